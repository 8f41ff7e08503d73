/** An exported run in which every text is hostile, for tests of the page in a browser. */
import type { ActionLine, ActionView, EpisodeLine, EpisodeView } from "../api.ts";
import type { Export, NodeView, RunLine, RunPage } from "../api.ts";

/** Markup, an end of the element that holds the data, a reversed direction, an escape of terminals, and a null. */
export const hostile = `</script><img src=x onerror="globalThis.wasRun = true"><script>globalThis.wasRun = true</script>\u202Egnp.exe\u001B[31m\u0000<!--`;

/** One line of 100 kB. */
export const long = "x".repeat(100_000);

export const runName = `run ${hostile.slice(0, 60)}/..`;

const line = (run: string, seed: number): RunLine => ({
  run,
  folder: `/runs/${hostile}`,
  recipe: hostile,
  training: "a",
  environment: "plan-path",
  algorithm: hostile,
  seed,
  step: 30,
  steps: 40,
  state: "stopped",
  problem: hostile,
  success: { mean: 0.5, low: 0.3, high: 0.7 },
});

export const roles: readonly string[] = ["scout", `planner ${hostile}`];

const actionOf = (parent: string, role: string, turn: number, sample: number): ActionLine => ({
  id: `${parent}/${role}/${sample}`,
  parent,
  seat: role,
  role,
  policy: hostile,
  policyVersion: 3,
  turn,
  phase: roles.indexOf(role),
  sample,
  frozen: false,
  branch: hostile,
  stopReason: "length",
  promptTokens: 12,
  tokens: 4,
  reply: {
    text: sample === 1 ? long : `${hostile} reply ${sample}`,
    thinking: hostile,
    calls: [{ name: hostile, arguments: { text: hostile }, error: hostile }],
    truncated: true,
  },
  logprob: -2.5,
  advantage: sample - 1,
  return: 0.5,
  group: JSON.stringify([hostile, "", 0, role]),
  ...(sample === 2 ? { droppedWhy: hostile } : {}),
});

const sampled = roles.flatMap((role, phase) =>
  [0, 1].flatMap((turn) => [0, 1, 2].map((sample) => actionOf(nodeBefore(turn, phase), role, turn, sample))),
);

/** Each state is the first child of the one before. */
function nodeBefore(turn: number, phase: number): string {
  return Array.from({ length: 2 * turn + phase }, () => "0").join(".");
}

function nodesAfter(action: ActionLine): NodeView {
  const { parent, sample, turn, phase } = action;
  return {
    id: parent === "" ? String(sample) : `${parent}.${sample}`,
    parent,
    turn: phase === 1 ? turn + 1 : turn,
    phase: 1 - phase,
    kept: sample === 0,
    done: turn === 1 && phase === 1,
    score: 0.25,
    rendered: `${hostile}\nstate`,
    observations: Object.fromEntries(roles.map((role) => [role, hostile])),
    actions: [
      {
        action: action.id,
        team: 0.1 * sample,
        local: 0.2,
        judge: 0.75,
        parts: { [hostile]: 0.2 },
        reason: hostile,
        verdict: sample === 1 ? { failure: hostile } : { score: 0.75, explanation: hostile, blame: hostile },
        environmentReward: { team: 0, local: 1 },
        evidence: { output: hostile, files: [{ path: hostile, size: 3, digest: "00", note: hostile }] },
      },
    ],
    play: `troupe play --run ${hostile}`,
  };
}

const root: NodeView = {
  id: "",
  parent: null,
  turn: 0,
  phase: 0,
  kept: true,
  done: false,
  rendered: hostile,
  observations: {},
  actions: [],
};

const episodeId = (index: number): string => (index === 0 ? `train/1/${hostile}` : `train/1/${index}`);

const episodeOf = (index: number): EpisodeView => ({
  id: episodeId(index),
  run: runName,
  step: 1,
  team: null,
  split: "train",
  success: index % 2,
  score: 0.25,
  task: { text: hostile },
  taskText: hostile,
  roles,
  nodes: [root, ...sampled.map(nodesAfter)],
  actions: Object.fromEntries(sampled.map((action) => [action.id, action])),
  ends: [{ node: "0.0.0.0", success: index % 2 === 1, score: 0.25, turns: 2, problem: hostile }],
  newer: null,
  older: null,
});

const lineOf = (index: number): EpisodeLine => ({
  id: episodeId(index),
  step: 1,
  team: index > 2 ? hostile : null,
  success: index % 2,
  score: 0.25,
  turns: 2,
  actions: 12,
});

const viewOf = (action: ActionLine): ActionView => ({
  ...action,
  prompt: `${hostile} needle`,
  tokenViews: [hostile, "\n", " fine", "<|end|>"].map((text, id) => ({
    id,
    text,
    logprob: id === 2 ? null : -id,
    entropy: 0.25 * id,
    advantage: id - 1,
    ...(id === 3 ? { isControl: true } : {}),
  })),
  problem: hostile,
});

/** More episodes than fit on a screen; the first has its actions, too. */
export const episodeCount = 400;

export function hostileExport(): Export {
  const runs = [line(runName, 1), line("other", 2)];
  const page = (of: RunLine): RunPage => ({
    ...of,
    roles,
    hasJudge: true,
    teams: ["team", hostile],
    recipeText: hostile,
    columns: ["rollout.success"],
    checkpoints: [30],
    index: { episodes: episodeCount, indexed: episodeCount, actions: 12 },
  });
  const steps = Array.from({ length: 30 }, (_, index) => index + 1);
  const wave = steps.map((step) => 0.5 + 0.4 * Math.sin(step / 4));
  const curves = {
    steps,
    stages: steps.map(() => "reinforcement" as const),
    columns: {
      "rollout.success": wave,
      [`rollout.roles.${hostile}.team`]: wave,
      "policies.shared.entropy": wave,
    },
    timed: { seconds: wave, tokensPerSecond: wave, hours: wave, coachTokens: wave, coachDollars: wave },
    evaluations: [0, 10, 20, 30].map((step) => ({
      team: hostile,
      moment: "during" as const,
      step,
      success: 0.5,
      low: 0.3,
      high: 0.7,
      tasks: 20,
    })),
  };
  const lines = Array.from({ length: episodeCount }, (_, index) => lineOf(index));
  return {
    runs,
    pages: Object.fromEntries(runs.map((each) => [each.run, page(each)])),
    curves: Object.fromEntries(runs.map((each) => [each.run, curves])),
    differences: [{ key: hostile, values: [hostile, null] }],
    lists: {
      [runName]: { total: episodeCount, isExact: true, searched: 1, episodes: lines, cursor: null },
    },
    episodes: { [runName]: Object.fromEntries([0, 1].map((index) => [episodeId(index), episodeOf(index)])) },
    actions: {
      [runName]: { [episodeId(0)]: Object.fromEntries(sampled.map((action) => [action.id, viewOf(action)])) },
    },
    leftOut: [hostile],
  };
}
