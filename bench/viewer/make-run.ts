/**
 * A run folder of any size in the real format, by the writers that a training uses, with words instead of a model's text:
 * `node bench/viewer/make-run.ts FOLDER ACTIONS`.
 */
import type { Action, Episode, EpisodeNode, RewardedAction } from "../../src/rollout/episode.ts";
import { newEpisode, type ActionCredit } from "../../src/rollout/stored.ts";
import type { NewEpisode } from "../../src/runs/episode-log.ts";
import type { Evaluation, StepMetrics } from "../../src/runs/records.ts";
import { openRun } from "../../src/runs/run.ts";
import { Words } from "./words.ts";

const roles = ["planner", "runner"] as const;
const [turns, samples, episodesPerStep] = [4, 8, 16];
const actionsPerEpisode = turns * samples * roles.length;

const recipe = `name: large
seed: 1
environment:
  name: plan-path
  size: 10
team:
  roles:
    planner: { policy: shared }
    runner: { policy: shared }
  phases: [[planner], [runner]]
  turns: ${turns}
policies:
  shared: { model: { preset: nano } }
algorithm: { name: at-grpo, samples: ${samples} }
`;

const words = new Words(1);

/** A tree as AT-GRPO grows it: the candidates of a phase from one state, of which the best continues. */
function episodeAt(step: number, task: number): { episode: Episode; credit: ActionCredit[] } {
  const nodes: EpisodeNode[] = [nodeOf("", null, 0, 0, [], false)];
  const actions: Action[] = [];
  const credit: ActionCredit[] = [];
  let from = "";
  for (let place = 0; place < turns * roles.length; place++) {
    const [turn, phase] = [Math.floor(place / roles.length), place % roles.length];
    const role = roles[phase] ?? "planner";
    const prompt = words.tokens(160);
    const group = `${from}/${role}`;
    for (let sample = 0; sample < samples; sample++) {
      const action = actionOf(from, role, { turn, phase, sample, prompt });
      actions.push(action);
      const team = words.draw() < 0.3 ? 1 : 0;
      const id = from === "" ? `${sample}` : `${from}.${sample}`;
      const isLast = place === turns * roles.length - 1;
      const next = [Math.floor((place + 1) / roles.length), (place + 1) % roles.length] as const;
      nodes.push(nodeOf(id, from, ...next, [edgeOf(action.id, team)], isLast, sample === 0));
      credit.push({ action: action.id, group, return: team, advantage: team - 0.3 });
    }
    from = from === "" ? "0" : `${from}.0`;
  }
  const success = words.draw() < 0.5;
  const path = ["train", step, task];
  const ends = [{ node: from, outcome: { success, score: success ? 1 : 0.2 }, turns }];
  const episode: Episode = {
    schema_version: 1,
    id: path.join("/"),
    path,
    split: "train",
    task: { number: task },
    nodes,
    actions,
    ends,
  };
  return { episode, credit };
}

function nodeOf(
  id: string,
  parent: string | null,
  turn: number,
  phase: number,
  actions: readonly RewardedAction[],
  done: boolean,
  kept = true,
): EpisodeNode {
  const rendered = Array.from({ length: 10 }, () => "· · ██· · ● · ◎ · ·").join("\n");
  return {
    id,
    parent,
    state: { at: id },
    rendered,
    turn,
    phase,
    observations: {},
    actions,
    done,
    score: 0,
    kept,
  };
}

function edgeOf(action: string, team: number): RewardedAction {
  const reward = { team, local: 0.25, parts: { format: 0.1, path: 0.15 } };
  if (words.draw() > 0.3) return { action, reward };
  const explanation = words.text(words.tokens(20));
  return {
    action,
    reward,
    verdict: { score: words.draw(), explanation, blame: words.draw() < 0.5 ? "planner" : null },
  };
}

function actionOf(
  parent: string,
  role: string,
  { turn, phase, sample, prompt }: Pick<Action, "turn" | "phase" | "sample" | "prompt">,
): Action {
  const tokens = words.tokens(30 + Math.floor(60 * words.draw()));
  const stopReason = words.draw() < 0.05 ? "length" : "stop";
  return {
    id: `${parent}/${role}/${sample}`,
    parent,
    seat: role,
    role,
    policy: "shared",
    policyVersion: 1,
    turn,
    phase,
    sample,
    frozen: false,
    prompt,
    tokens,
    logprobs: Float32Array.from(tokens, () => Math.fround(-4 * words.draw())),
    reply: { text: words.text(tokens), truncated: stopReason === "length" },
    stopReason,
  };
}

function recordAt(step: number, task: number): NewEpisode {
  const { episode, credit } = episodeAt(step, task);
  return newEpisode(episode, { step }, (_policy, tokens) => words.text(tokens), credit);
}

function metricsAt(step: number): StepMetrics {
  const role = {
    actions: 512,
    team: words.draw(),
    local: words.draw(),
    parts: {},
    advantageSpread: 1,
    truncated: 0.05,
  };
  const policy = {
    loss: words.draw(),
    tokens: 30_000,
    optimizerSteps: 2,
    learningRate: 1e-4,
    gradientNorm: words.draw(),
  };
  return {
    schema_version: 1,
    step,
    stage: "reinforcement",
    stageStep: step,
    policies: { shared: { ...policy, entropy: words.draw(), kl: words.draw(), clipShare: words.draw() } },
    rollout: {
      episodes: episodesPerStep,
      success: words.draw(),
      score: words.draw(),
      turns,
      roles: { planner: role, runner: role },
      groups: 128,
      flatGroups: words.draw(),
      promptTokens: 20_000,
      sampledTokens: 30_000,
    },
  };
}

function evaluationAt(step: number): Evaluation {
  const moment = step === 0 ? "before" : "during";
  const numbers = { tasks: 100, successes: 50, success: 0.5, low: 0.4, high: 0.6, score: 0.6, turns };
  return {
    schema_version: 1,
    step,
    moment,
    team: "team",
    ...numbers,
    successByTurn: [],
    promptTokens: 1,
    sampledTokens: 1,
  };
}

/** Writes a run of at least so many actions, in whole steps. */
export async function makeRun(folder: string, actions: number): Promise<void> {
  await using run = await openRun(folder, recipe);
  const timing = { schema_version: 1, what: "reinforcement", seconds: 10, sampling: 6, training: 4 } as const;
  await run.recordEvaluation(evaluationAt(0), { ...timing, step: 0, what: "evaluation", team: "team" });
  const steps = Math.ceil(actions / actionsPerEpisode / episodesPerStep);
  for (let step = 1; step <= steps; step++) {
    const episodes = Array.from({ length: episodesPerStep }, (_, task) => recordAt(step, task));
    await run.recordStep(metricsAt(step), { ...timing, step }, episodes);
  }
}

if (import.meta.main) {
  const [folder, actions] = process.argv.slice(2);
  if (folder === undefined) throw new Error("usage: node bench/viewer/make-run.ts FOLDER ACTIONS");
  await makeRun(folder, Number(actions ?? 1_000_000));
}
