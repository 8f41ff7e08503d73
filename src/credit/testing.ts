/** Episodes with given rewards, without an engine or an environment, for tests. */
import type { ActionReward } from "../environments/environment.ts";
import type { Action, Episode, EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";

/** An action with its reward; `reward: null`: none. */
export interface Earning extends Action {
  readonly reward: ActionReward | null;
}

export type ActionSketch = Partial<Earning> & { readonly team?: number; readonly local?: number };

/** Two tokens, prompt [1, 2], role and policy "solver". */
export function action({ team = 0, local = 0, ...rest }: ActionSketch = {}): Earning {
  const { stopReason = "stop" } = rest;
  return {
    id: "",
    parent: "",
    seat: "solver",
    role: "solver",
    policy: "solver",
    policyVersion: null,
    turn: 0,
    phase: 0,
    prompt: Int32Array.of(1, 2),
    tokens: Int32Array.of(3, 4),
    logprobs: Float32Array.of(-1, -2),
    reply: { text: "text", truncated: stopReason === "length" },
    stopReason,
    reward: { team, local, parts: {} },
    frozen: false,
    sample: 0,
    ...rest,
  };
}

/** Trajectories of one-role phases from one root, each a list of actions and the score at its end, 0 before. */
export function trajectories(
  task: number,
  lines: readonly { readonly actions: readonly Earning[]; readonly score: number }[],
): Episode {
  const tree = new Tree(task);
  for (const [index, { actions, score }] of lines.entries()) {
    let end = "";
    for (const [depth, one] of actions.entries()) {
      const reached = depth + 1 === actions.length ? score : 0;
      end = tree.grow(end, [{ ...one, sample: depth === 0 ? index : 0 }], { score: reached });
    }
    tree.end(end, { success: score === 1, score }, actions.length);
  }
  return tree.episode();
}

/** One decision with the given actions as children, the first of which was kept. The score equals the team reward. */
export function decision(task: number, actions: readonly Earning[]): Episode {
  const tree = new Tree(task);
  for (const [sample, one] of actions.entries())
    tree.grow("", [{ ...one, sample }], { score: one.reward?.team ?? 0 });
  tree.end("0", { success: false, score: 0 }, 1);
  return tree.episode();
}

/** A tree of two turns, all kept: an action for each list of scores, which are reached by the actions after it. */
export function alternatives(task: number, after: readonly (readonly number[])[]): Episode {
  const tree = new Tree(task);
  for (const [sample, scores] of after.entries()) {
    const first = tree.grow("", [action({ sample })], { score: 0 });
    for (const [second, score] of scores.entries()) {
      const end = tree.grow(first, [action({ turn: 1, sample: second })], { score });
      tree.end(end, { success: score === 1, score }, 2);
    }
  }
  return tree.episode();
}

type NodeSketch = Partial<Pick<EpisodeNode, "score" | "endedEarly">>;

/** An episode under construction: a child is numbered after its siblings, a completion occurs once. */
class Tree {
  readonly #task: number;
  readonly #nodes: EpisodeNode[] = [];
  readonly #actions = new Map<string, Action>();
  readonly #ends: EpisodeEnd[] = [];

  constructor(task: number, root: NodeSketch = {}) {
    this.#task = task;
    this.#add("", null, [], root);
  }

  /** Returns the child's id. */
  grow(parent: string, actions: readonly Earning[], sketch: NodeSketch): string {
    const index = this.#nodes.filter((node) => node.parent === parent).length;
    const id = parent === "" ? `${index}` : `${parent}.${index}`;
    const edge = actions.map(({ reward, ...one }) => {
      const key = `${parent}/${one.role}/${one.sample}`;
      if (!this.#actions.has(key)) this.#actions.set(key, { ...one, id: key, parent });
      return { action: key, reward };
    });
    this.#add(id, parent, edge, sketch);
    return id;
  }

  end(node: string, outcome: EpisodeEnd["outcome"], turns: number): void {
    this.#ends.push({ node, outcome, turns });
  }

  episode(): Episode {
    const path = ["train", 0, this.#task];
    const [nodes, actions] = [this.#nodes, [...this.#actions.values()]];
    return {
      schema_version: 1,
      id: path.join("/"),
      path,
      split: null,
      task: {},
      nodes,
      actions,
      ends: this.#ends,
    };
  }

  #add(id: string, parent: string | null, actions: EpisodeNode["actions"], sketch: NodeSketch): void {
    const rest = { state: {}, turn: 0, phase: 0, observations: {}, done: false, kept: true };
    this.#nodes.push({ ...rest, id, parent, actions, score: 0, ...sketch });
  }
}

/** An episode in the format of tests/fixtures/credit/cases.json. */
export interface TreeSketch {
  readonly actions?: readonly SketchedAction[];
  readonly children: readonly TreeSketch[];
  readonly kept?: boolean;
  /** For a trajectory that ends here. */
  readonly score?: number;
  /** The score of a state that is not the last. Absent: 0. */
  readonly reached?: number;
  readonly endedEarly?: boolean;
}

interface SketchedAction {
  readonly role: string;
  readonly turn: number;
  readonly phase: number;
  readonly sample: number;
  readonly frozen: boolean;
  readonly team: number;
  readonly local: number;
  readonly logprobs: readonly number[];
  readonly reference?: readonly number[];
  readonly values?: readonly number[];
  readonly stopReason?: "length";
}

export interface SketchedEpisode {
  readonly episode: Episode;
  /** By action: the reference log-probabilities and values given in the sketch. */
  readonly references: ReadonlyMap<Action, Float64Array>;
  readonly values: ReadonlyMap<Action, Float64Array>;
}

/** The policy of a role is `policy-ROLE`; token t of an action is t, its prompt names parent and role. */
export function episodeFrom(task: number, sketch: TreeSketch): SketchedEpisode {
  const [given, tree] = [new Map<string, SketchedAction>(), new Tree(task, { score: scoreOf(sketch) })];
  const grow = ({ children, score }: TreeSketch, at: string): void => {
    if (score !== undefined) tree.end(at, { success: false, score }, 1);
    for (const child of children) {
      const { actions = [], endedEarly } = child;
      for (const one of actions) {
        const key = `${at}/${one.role}/${one.sample}`;
        if (!given.has(key)) given.set(key, one);
      }
      const ended = endedEarly === undefined ? {} : { endedEarly };
      const id = tree.grow(
        at,
        actions.map((one) => sketched(at, one)),
        { score: scoreOf(child), ...ended },
      );
      grow(child, id);
    }
  };
  grow(sketch, "");
  const episode = tree.episode();
  const measured = (of: "reference" | "values") =>
    new Map(
      episode.actions.flatMap((one) => {
        const numbers = given.get(one.id)?.[of];
        return numbers === undefined ? [] : [[one, Float64Array.from(numbers)] as const];
      }),
    );
  return { episode, references: measured("reference"), values: measured("values") };
}

const scoreOf = ({ score, reached }: TreeSketch): number => score ?? reached ?? 0;

function sketched(parent: string, sketch: SketchedAction): Earning {
  const { logprobs, reference: _, values: __, ...rest } = sketch;
  const numbers = new TextEncoder().encode(`${parent} ${sketch.role}`);
  return action({
    ...rest,
    seat: sketch.role,
    policy: `policy-${sketch.role}`,
    prompt: Int32Array.from(numbers),
    tokens: Int32Array.from(logprobs, (_one, token) => token),
    logprobs: Float32Array.from(logprobs),
  });
}

/** Largest difference, relative for numbers above 1; infinite if lengths differ. */
export function distance(found: ArrayLike<number> | undefined, wanted: readonly number[]): number {
  if (found?.length !== wanted.length) return Infinity;
  return wanted.reduce(
    (most, value, index) =>
      Math.max(most, Math.abs((found[index] ?? Number.NaN) - value) / Math.max(1, Math.abs(value))),
    0,
  );
}
