/**
 * A run with one episode, for tests of what the page shows of a record: no two figures are equal, so that none can stand
 * for another.
 */
import type { Action, Episode, EpisodeNode } from "../../rollout/episode.ts";
import { newEpisode, type ActionCredit, type StoredEpisode } from "../../rollout/stored.ts";
import { EpisodeLog } from "../../runs/episode-log.ts";
import { layoutOf } from "../../runs/layout.ts";
import { openRun } from "../../runs/run.ts";
import type { EpisodeView } from "../api.ts";
import { episodeView } from "../episode-view.ts";

const node = (
  id: string,
  parent: string | null,
  rendered: string,
  kept: boolean,
  { actions = [], ...rest }: Partial<EpisodeNode> = {},
): EpisodeNode => {
  const place = { turn: 0, phase: parent === "" ? 1 : 0, done: false };
  return { id, parent, state: null, rendered, kept, ...place, observations: {}, actions, ...rest };
};

/** @param sampled of each token: its id, its log-probability and the entropy of its distribution */
const action = (
  parent: string,
  role: string,
  sample: number,
  reply: Action["reply"],
  ...sampled: readonly (readonly [id: number, logprob: number, entropy: number])[]
): Action => ({
  id: `${parent}/${role}/${sample}`,
  parent,
  seat: role,
  role,
  policy: "shared",
  policyVersion: 7,
  turn: 0,
  phase: role === "planner" ? 0 : 1,
  sample,
  frozen: false,
  prompt: Int32Array.of(1, 2, 3),
  tokens: Int32Array.from(sampled, ([id]) => id),
  logprobs: Float32Array.from(sampled, ([, logprob]) => logprob),
  entropies: Float32Array.from(sampled, ([, , entropy]) => entropy),
  reply,
  stopReason: reply.truncated ? "length" : "stop",
});

const said = (text: string) => ({ text, truncated: false });

const episode: Episode = {
  schema_version: 1,
  id: "train/4/2",
  path: ["train", 4, 2],
  split: null,
  task: null,
  nodes: [
    node("", null, "the start", true),
    node("0", "", "after planner 1", false, {
      actions: [
        {
          action: "/planner/0",
          reward: { team: 0.25, local: 0.125, parts: {}, reason: "no way there" },
          verdict: { score: 0.4 },
        },
      ],
    }),
    node("1", "", "after planner 2", true, {
      actions: [
        {
          action: "/planner/1",
          reward: { team: 0.75, local: 0.5, parts: { legal: 0.375, short: 0.12 } },
          verdict: { score: 0.9, blame: "runner" },
          environmentReward: { team: 0.65, local: 0.45, parts: {} },
        },
      ],
    }),
    node("2", "", "after planner 3", false, {
      actions: [{ action: "/planner/2", reward: null, verdict: { failure: "no answer" } }],
    }),
    node("1.0", "1", "after runner 1", true, {
      turn: 1,
      done: true,
      score: 0.625,
      actions: [{ action: "1/runner/0", reward: { team: 0.875, local: 0.0625, parts: {} } }],
    }),
    node("1.1", "1", "after runner 2", false, {
      turn: 1,
      done: true,
      score: 0.1,
      actions: [{ action: "1/runner/1", reward: { team: 0.3, local: 0.7, parts: {} } }],
    }),
  ],
  actions: [
    action("", "planner", 0, said("hi"), [11, -0.5, 0.75], [12, -1.25, 2]),
    action("", "planner", 1, said("go!"), [13, -0.25, 1.5], [14, -2, 0.5], [15, -0.5, 3]),
    action("", "planner", 2, { text: "", truncated: true }, [16, -3, 1]),
    action("1", "runner", 0, said("a"), [17, -0.75, 0.25]),
    action("1", "runner", 1, said("b"), [18, -1.5, 2.5]),
  ],
  ends: [{ node: "1.0", outcome: { success: true, score: 0.625 }, turns: 1 }],
};

const credit: readonly ActionCredit[] = [
  { action: "/planner/0", group: "planners", return: 0.375, advantage: -0.75 },
  { action: "/planner/1", group: "planners", return: 1.25, advantage: 0.3, advantages: [0.5, -1, 1.4] },
  { action: "/planner/2", group: "planners", return: null, advantage: 0 },
  { action: "1/runner/0", group: "runners", return: 0.9375, advantage: 1.5 },
  { action: "1/runner/1", group: "runners", return: 1, advantage: -0.5 },
];

const entry = { schema_version: 1, id: episode.id, step: 4, success: 1, score: 0.625 } as const;
const stored: StoredEpisode = {
  entry: { ...entry, episode: [0, 0], prompts: [0, 0] },
  episode,
  credit,
  promptText: () => "go on",
};

/** The episode as the viewer's server sends it. */
export function handMadeView(): EpisodeView {
  const nothing = { draw: () => undefined, play: () => undefined, newer: null, older: null };
  return episodeView(stored, { run: "run", ...nothing });
}

const recipe = (size: number) => `name: hand-made
seed: 3
environment: { name: plan-path, size: ${size} }
team: { roles: { planner: { policy: shared }, runner: { policy: shared } }, phases: [[planner], [runner]], turns: 2 }
policies: { shared: { model: { preset: nano } } }
algorithm: { name: at-grpo, samples: 3 }
train: { steps: 10 }
`;

/** @param size of the environment's boards, in which recipes of such runs can differ */
export async function writeHandMade(directory: string, size = 4): Promise<void> {
  const run = await openRun(directory, recipe(size));
  await run.close();
  const log = await EpisodeLog.open(layoutOf(directory), () => true);
  await log.append(newEpisode(episode, { step: 4 }, () => "go on", credit));
  await log.sync();
}
