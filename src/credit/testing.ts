/** Episodes with given rewards, without an engine or an environment. For tests. */
import type { Action, Episode, EpisodeEnd, EpisodeNode } from "../rollout/episode.ts";

export type ActionSketch = Partial<Omit<Action, "reward">> & {
  readonly team?: number;
  readonly local?: number;
};

/** Two tokens, prompt [1, 2], role and policy "solver". */
export function action({ team = 0, local = 0, ...rest }: ActionSketch = {}): Action {
  return {
    role: "solver",
    policy: "solver",
    turn: 0,
    phase: 0,
    prompt: Int32Array.of(1, 2),
    tokens: Int32Array.of(3, 4),
    logprobs: Float32Array.of(-1, -2),
    text: "text",
    stopReason: "stop",
    reward: { team, local, parts: {} },
    frozen: false,
    sample: 0,
    ...rest,
  };
}

/** Whole trajectories of one-role phases from one root, each a list of actions and the score at its end, 0 before. */
export function trajectories(
  task: number,
  lines: readonly { readonly actions: readonly Action[]; readonly score: number }[],
): Episode {
  const root = node("", null, []);
  const ends = lines.map(({ actions, score }, index) => {
    let end = root;
    for (const [depth, one] of actions.entries()) {
      const id = depth === 0 ? `${index}` : `${end.id}.0`;
      const reached = depth + 1 === actions.length ? score : 0;
      end = node(id, end, [{ ...one, sample: depth === 0 ? index : 0 }], reached);
    }
    return { node: end, outcome: { success: score === 1, score }, turns: actions.length };
  });
  return { path: ["train", 0, task], task: {}, root, ends };
}

/** One decision with the given actions as children, the first of which was kept. The team's reward is the score, too. */
export function decision(task: number, actions: readonly Action[]): Episode {
  const root = node("", null, []);
  const children = actions.map((one, index) =>
    node(`${index}`, root, [{ ...one, sample: index }], one.reward.team),
  );
  const ends = children
    .slice(0, 1)
    .map((end) => ({ node: end, outcome: { success: false, score: 0 }, turns: 1 }));
  return { path: ["train", 0, task], task: {}, root, ends };
}

/** Adds itself to its parent's children. */
function node(
  id: string,
  parent: EpisodeNode | null,
  actions: readonly Action[],
  score = 0,
  endedEarly = false,
): EpisodeNode {
  const children: EpisodeNode[] = [];
  const made: EpisodeNode = {
    id,
    parent,
    state: {},
    turn: 0,
    phase: 0,
    actions,
    done: false,
    score,
    children,
    kept: true,
    ...(endedEarly ? { endedEarly } : {}),
  };
  (parent?.children as EpisodeNode[] | undefined)?.push(made);
  return made;
}

/** An episode as tests/fixtures/credit/cases.json has it. */
export interface TreeSketch {
  readonly actions?: readonly SketchedAction[];
  readonly children: readonly TreeSketch[];
  readonly kept?: boolean;
  /** Of a line that was played to its end here. */
  readonly score?: number;
  /** The score on the way, of a state that is no end. Absent: 0. */
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
  /** By action: what the sketch gives as reference log-probabilities and values. */
  readonly references: ReadonlyMap<Action, Float64Array>;
  readonly values: ReadonlyMap<Action, Float64Array>;
}

/** The policy of a role is `policy-ROLE`; token t of an action is t, its prompt names parent and role. */
export function episodeFrom(task: number, sketch: TreeSketch): SketchedEpisode {
  const [references, values] = [new Map<Action, Float64Array>(), new Map<Action, Float64Array>()];
  const ends: EpisodeEnd[] = [];
  const grow = (from: TreeSketch, at: EpisodeNode): void => {
    if (from.score !== undefined)
      ends.push({ node: at, outcome: { success: false, score: from.score }, turns: 1 });
    for (const [index, child] of from.children.entries()) {
      const actions = (child.actions ?? []).map((one) => {
        const made = sketched(at.id, one);
        if (one.reference) references.set(made, Float64Array.from(one.reference));
        if (one.values) values.set(made, Float64Array.from(one.values));
        return made;
      });
      const id = at.id === "" ? `${index}` : `${at.id}.${index}`;
      grow(child, node(id, at, actions, scoreOf(child), child.endedEarly));
    }
  };
  const root = node("", null, [], scoreOf(sketch));
  grow(sketch, root);
  return { episode: { path: ["train", 0, task], task: {}, root, ends }, references, values };
}

const scoreOf = ({ score, reached }: TreeSketch): number => score ?? reached ?? 0;

function sketched(parent: string, sketch: SketchedAction): Action {
  const { logprobs, role, turn, phase, sample, frozen, team, local, stopReason = "stop" } = sketch;
  const numbers = new TextEncoder().encode(`${parent} ${role}`);
  return action({
    role,
    turn,
    phase,
    sample,
    frozen,
    team,
    local,
    stopReason,
    policy: `policy-${role}`,
    prompt: Int32Array.from(numbers),
    tokens: Int32Array.from(logprobs, (_one, token) => token),
    logprobs: Float32Array.from(logprobs),
  });
}

/** Largest difference, as a part of the number where that is above 1; infinite where lengths differ. */
export function distance(found: ArrayLike<number> | undefined, wanted: readonly number[]): number {
  if (found?.length !== wanted.length) return Infinity;
  return wanted.reduce(
    (most, value, index) =>
      Math.max(most, Math.abs((found[index] ?? Number.NaN) - value) / Math.max(1, Math.abs(value))),
    0,
  );
}
