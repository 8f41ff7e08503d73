/** Run folders with drawn episodes, for tests: every kind of reward, verdict and text that a record may hold. */
import * as fc from "fast-check";
import type { Untrained } from "../../credit/algorithm.ts";
import type { Action, Episode, EpisodeNode, RewardedAction } from "../../rollout/episode.ts";
import { newEpisode, type ActionCredit } from "../../rollout/stored.ts";
import { EpisodeLog } from "../../runs/episode-log.ts";
import { layoutOf } from "../../runs/layout.ts";
import { openRun } from "../../runs/run.ts";

export const hostileTexts = [
  "<script>alert(1)</script><img src=x onerror=alert(1)>",
  "\u001B[2J\u001B]0;title\u0007",
  "abc\u202Egnp.exe\u2066",
  "zero\0byte",
  "half \uD800 surrogate",
  '$& $` \\ " </textarea>',
  "İSTANBUL ΣΊΣΥΦΟΣ ß ﬁ 日本語 🙂",
] as const;

const word = fc.constantFrom("right", "down", "Goal", "wall", "a1", "ÉCLAIR", ...hostileTexts);
const text = fc.array(word, { maxLength: 6 }).map((words) => words.join(" "));

const drawnAction = fc.record({
  text,
  team: fc.option(fc.constantFrom(0, 0.1, 0.5, 1)),
  isTruncated: fc.boolean(),
  score: fc.option(fc.constantFrom(0, 0.4, 0.6, 1)),
  blame: fc.option(fc.constantFrom("planner", "runner")),
  advantage: fc.constantFrom(0, 0, 1, -1),
});
type DrawnAction = typeof drawnAction extends fc.Arbitrary<infer Drawn> ? Drawn : never;

const drawnEpisode = fc.record({
  prompt: text,
  isTrained: fc.boolean(),
  success: fc.boolean(),
  /** In training, the first action is what the team played, and the last one is worth the opposite. */
  isBranched: fc.boolean(),
  actions: fc.array(drawnAction, { minLength: 1, maxLength: 4 }),
});
export type DrawnEpisode = typeof drawnEpisode extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** The same for the same seed. */
export function drawnEpisodes(seed: number, count: number): DrawnEpisode[] {
  return fc.sample(drawnEpisode, { seed, numRuns: count });
}

const codes = new Map<string, number>();

/** Any text is one token. */
function tokensOf(written: string): Int32Array {
  const code = codes.get(written) ?? codes.size;
  codes.set(written, code);
  return Int32Array.of(code);
}

/** Writes the episodes after those that are there. @param keep how many of those stay, as after a resumed run cut them */
export async function writeEpisodes(
  directory: string,
  episodes: readonly DrawnEpisode[],
  keep = Infinity,
): Promise<void> {
  let kept = 0;
  const log = await EpisodeLog.open(layoutOf(directory), () => kept++ < keep);
  for (const [index, drawn] of episodes.entries()) {
    const step = Math.min(kept, keep) + index + 1;
    const { episode, credit } = episodeOf(step, drawn);
    const decode = (_: string, tokens: Int32Array) => [...codes.keys()][tokens[0] ?? 0] ?? "";
    const place = drawn.isTrained
      ? { step, ...(drawn.isBranched ? { branched: true as const } : {}) }
      : { step, evaluation: { moment: "during", team: "team" } as const };
    await log.append(newEpisode(episode, place, decode, drawn.isTrained ? credit : undefined));
  }
  await log.sync();
}

function episodeOf(step: number, drawn: DrawnEpisode): { episode: Episode; credit: ActionCredit[] } {
  const nodes: EpisodeNode[] = [nodeOf("", null, [])];
  const actions: Action[] = [];
  const credit: ActionCredit[] = [];
  for (const [index, one] of drawn.actions.entries()) {
    const role = index % 2 === 0 ? "planner" : "runner";
    const action = actionOf(index, role, drawn.prompt, one);
    actions.push(action);
    nodes.push(nodeOf(String(index), "", [edgeOf(action.id, one)]));
    const untrained: Untrained | null = one.isTruncated
      ? "truncated"
      : one.advantage === 0
        ? "no-advantage"
        : null;
    const why = one.team === null || untrained === null ? {} : { untrained };
    credit.push({ action: action.id, group: role, return: one.team, advantage: one.advantage, ...why });
  }
  const path = [drawn.isTrained ? "train" : "evaluation", step, 0];
  const last = { node: String(drawn.actions.length - 1), outcome: outcomeOf(drawn.success), turns: 1 };
  const first = { node: "0", outcome: outcomeOf(!drawn.success), turns: 1 };
  const isBranched = drawn.isTrained && drawn.isBranched && drawn.actions.length > 1;
  const episode: Episode = {
    schema_version: 1,
    id: path.join("/"),
    path,
    split: null,
    task: null,
    nodes,
    actions,
    ends: isBranched ? [first, { ...last, turns: 3 }] : [last],
  };
  return { episode, credit };
}

const outcomeOf = (success: boolean) => ({ success, score: success ? 1 : 0 });

function nodeOf(id: string, parent: string | null, actions: readonly RewardedAction[]): EpisodeNode {
  const done = parent !== null;
  const rest = { state: null, rendered: "a board", turn: done ? 1 : 0, phase: 0, observations: {} };
  return { id, parent, ...rest, actions, done, score: 0, kept: true };
}

function edgeOf(action: string, { team, score, blame }: DrawnAction): RewardedAction {
  const reward = team === null ? null : { team, local: 0.2, parts: {} };
  const verdict = score === null ? {} : { verdict: { score, blame, explanation: hostileTexts[0] } };
  return { action, reward, ...verdict };
}

function actionOf(
  sample: number,
  role: string,
  prompt: string,
  { text: said, isTruncated }: DrawnAction,
): Action {
  return {
    id: `/${role}/${sample}`,
    parent: "",
    seat: role,
    role,
    policy: "shared",
    policyVersion: 0,
    turn: 0,
    phase: 0,
    sample,
    frozen: false,
    prompt: tokensOf(`${role}: ${prompt}`),
    tokens: tokensOf(said),
    logprobs: Float32Array.of(-0.5),
    reply: { text: said, truncated: isTruncated },
    stopReason: isTruncated ? "length" : "stop",
  };
}

const recipe = `name: written
seed: 3
environment: { name: plan-path, size: 4 }
team: { roles: { planner: { policy: shared }, runner: { policy: shared } }, phases: [[planner], [runner]], turns: 2 }
policies: { shared: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 2 }
train: { steps: 10 }
`;

/** A run that has not trained yet, but has episodes. */
export async function writeRun(directory: string, episodes: readonly DrawnEpisode[]): Promise<void> {
  const run = await openRun(directory, recipe);
  await run.close();
  await writeEpisodes(directory, episodes);
}
