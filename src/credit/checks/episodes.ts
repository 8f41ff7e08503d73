/** Episodes with an algorithm's sampling scheme and rewards drawn by key, without an engine or an environment. */
import type { Generator, Key } from "../../random.ts";
import { childKey, drawFloat, drawInt, generatorOf } from "../../random.ts";
import { isOnLine } from "../../rollout/line.ts";
import type { Action, Episode, EpisodeEnd, EpisodeNode, SamplingScheme } from "../../rollout/episode.ts";

/** Phases of roles, two turns. */
export interface Play {
  readonly sampling: SamplingScheme;
  readonly phases: readonly (readonly string[])[];
  /** The reward and score of everything, with equal action lengths; absent: all are random. */
  readonly reward?: number;
}

const turns = 2;

export function drawnEpisode(play: Play, task: number, key: Key): Episode {
  return new Grower(play, task, generatorOf(childKey(key, task))).grow();
}

interface Tip {
  readonly id: string;
  readonly turn: number;
  readonly phase: number;
}

class Grower {
  readonly #play: Play;
  readonly #task: number;
  readonly #random: Generator;
  readonly #nodes: EpisodeNode[] = [];
  readonly #actions: Action[] = [];
  readonly #ends: EpisodeEnd[] = [];

  constructor(play: Play, task: number, random: Generator) {
    this.#play = play;
    this.#task = task;
    this.#random = random;
  }

  grow(): Episode {
    this.#addNode({ id: "", turn: 0, phase: 0 }, null, [], true);
    const tips: Tip[] = [{ id: "", turn: 0, phase: 0 }];
    for (let tip = tips.shift(); tip !== undefined; tip = tips.shift()) tips.push(...this.#expand(tip));
    const path = ["check", this.#task];
    const [nodes, actions, ends] = [this.#nodes, this.#actions, this.#ends];
    return {
      schema_version: 1,
      id: path.join("/"),
      path,
      split: null,
      task: this.#task,
      nodes,
      actions,
      ends,
    };
  }

  /** The children that are continued. */
  #expand(tip: Tip): readonly Tip[] {
    const { sampling, phases } = this.#play;
    if (tip.turn === turns) {
      const score = this.#number();
      this.#ends.push({ node: tip.id, outcome: { success: score === 1, score }, turns });
      return [];
    }
    const roles = phases[tip.phase] ?? [];
    const branches = tip.id === "" ? sampling.branch.root : sampling.branch.inner;
    const count = sampling.continued === "once" && !isOnLine(tip.id) ? 1 : branches;
    const samples = roles.map((role) =>
      Array.from({ length: count }, (_, sample) => this.#act(tip, role, sample)),
    );
    const joint = sampling.joint === "cross" ? product(samples) : pairs(samples);
    const last = tip.phase + 1 === phases.length;
    const place = last ? { turn: tip.turn + 1, phase: 0 } : { turn: tip.turn, phase: tip.phase + 1 };
    const children = joint.map((actions, index) => {
      const child = { id: tip.id === "" ? `${index}` : `${tip.id}.${index}`, ...place };
      const isKept = sampling.keep === "all" || index === 0;
      this.#addNode(child, tip.id, actions, isKept);
      return child;
    });
    return sampling.keep === "all" ? children : children.slice(0, 1);
  }

  #act({ id: parent, turn, phase }: Tip, role: string, sample: number): string {
    const length = this.#play.reward === undefined ? 1 + drawInt(this.#random, 3) : 2;
    const id = `${parent}/${role}/${sample}`;
    this.#actions.push({
      id,
      parent,
      seat: role,
      role,
      policy: `policy-${role}`,
      policyVersion: 0,
      turn,
      phase,
      sample,
      frozen: false,
      prompt: Int32Array.of(1, 2),
      tokens: new Int32Array(length).fill(3),
      logprobs: Float32Array.from({ length }, () => -1 - drawFloat(this.#random)),
      reply: { text: "text", truncated: false },
      stopReason: "stop",
    });
    return id;
  }

  #addNode({ id, turn, phase }: Tip, parent: string | null, actions: readonly string[], kept: boolean): void {
    const rewarded = actions.map((action) => {
      const [team, local] = [this.#number(), this.#number()];
      return { action, reward: { team, local, parts: {} } };
    });
    const rest = { state: {}, observations: {}, done: turn === turns, kept, score: this.#number() };
    this.#nodes.push({ ...rest, id, parent, turn, phase, actions: rewarded });
  }

  /** Multiples of 1/8, whose sums are exact. */
  #number(): number {
    return this.#play.reward ?? drawInt(this.#random, 9) / 8;
  }
}

/** Pairs the g-th sample of one role with the g-th of the other. */
function pairs(samples: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return (samples[0] ?? []).map((_, index) => samples.map((own) => own[index] ?? ""));
}

function product(samples: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return samples.reduce<readonly (readonly string[])[]>(
    (joint, own) => joint.flatMap((actions) => own.map((action) => [...actions, action])),
    [[]],
  );
}
