/** Episodes with given rewards, without an engine or an environment. For tests. */
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";

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

/** Whole trajectories of one-role phases from one root, each a list of actions and the score at its end. */
export function trajectories(
  task: number,
  lines: readonly { readonly actions: readonly Action[]; readonly score: number }[],
): Episode {
  const root = node("", null, []);
  const ends = lines.map(({ actions, score }, index) => {
    let end = root;
    for (const [depth, one] of actions.entries()) {
      end = node(depth === 0 ? `${index}` : `${end.id}.0`, end, [
        { ...one, sample: depth === 0 ? index : 0 },
      ]);
    }
    return { node: end, outcome: { success: score === 1, score }, turns: actions.length };
  });
  return { path: ["train", 0, task], task: {}, root, ends };
}

/** One decision with the given actions as children, the first of which was kept. */
export function decision(task: number, actions: readonly Action[]): Episode {
  const root = node("", null, []);
  const children = actions.map((one, index) => node(`${index}`, root, [{ ...one, sample: index }]));
  const ends = children
    .slice(0, 1)
    .map((end) => ({ node: end, outcome: { success: false, score: 0 }, turns: 1 }));
  return { path: ["train", 0, task], task: {}, root, ends };
}

/** Adds itself to its parent's children. */
function node(id: string, parent: EpisodeNode | null, actions: readonly Action[]): EpisodeNode {
  const children: EpisodeNode[] = [];
  const made: EpisodeNode = {
    id,
    parent,
    state: {},
    turn: 0,
    phase: 0,
    actions,
    done: false,
    children,
    kept: true,
  };
  (parent?.children as EpisodeNode[] | undefined)?.push(made);
  return made;
}
