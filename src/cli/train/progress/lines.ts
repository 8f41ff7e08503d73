/** What a run prints as plain lines: one per step and evaluation, and a few sample episodes. */
import {
  showCount,
  showDuration,
  showLarge,
  showLines,
  showNumber,
  showShare,
  showTasks,
  showText,
} from "../../../format.ts";
import type { Evaluation, ServiceCounts, StepMetrics, Timing, WatchRecord } from "../../../runs/records.ts";
import type { SampleAction, SampleEpisode, Stage, TrainEvent } from "../../../train/events.ts";
import { describeSign } from "../../../train/watch.ts";
import { stackedTables, terminalWidth } from "../../table.ts";

export const stageNames: Readonly<Record<Stage, string>> = {
  "warm-start": "warm start",
  reinforcement: "step",
};

/** `step 3/60  success 43.8 %  scout 0.43 + 0.90  …  2,100 tokens/s  1:23 min left` */
export function stepLine(metrics: StepMetrics, timing: Timing, steps: number, left: number | null): string {
  const parts = [
    `${stageNames[metrics.stage]} ${metrics.stageStep}/${steps}`,
    ...(metrics.rollout === undefined ? lossParts(metrics) : rolloutParts(metrics)),
    `${showLarge(tokensPerSecond(metrics, timing))} tokens/s`,
  ];
  if (left !== null && left > 0) parts.push(`${showDuration(left)} left`);
  return parts.join("  ");
}

function lossParts(metrics: StepMetrics): string[] {
  const policies = Object.entries(metrics.policies);
  return policies.map(
    ([name, { loss }]) => `${policies.length > 1 ? `${name} ` : ""}loss ${showNumber(loss)}`,
  );
}

function rolloutParts(metrics: StepMetrics): string[] {
  const { success = 0, failed = 0, unrewarded = 0, unjudged = 0 } = metrics.rollout ?? {};
  return [
    `success ${showShare(success)}`,
    ...rewardParts(metrics),
    ...trustParts(metrics),
    ...lossNotes({ failed, unrewarded, unjudged }),
    ...driftNotes(metrics),
    ...serviceNotes(metrics.services),
  ];
}

/**
 * Of programs that drive themselves: prompts that begin a branch, and actions that train nothing:
 * `3 branched, 1.4 k tokens encoded again: the tools changed`
 */
export function driftNotes({ rollout }: StepMetrics): string[] {
  const {
    branches = {},
    reencoded = {},
    masked = {},
    uncalled = 0,
    problems,
    unusedRewards = 0,
  } = rollout ?? {};
  return [
    ...Object.entries(branches).map(([reason, count]) => {
      const again = reencoded[reason];
      const tokens = again === undefined ? "" : `, ${showLarge(again)} tokens encoded again`;
      return `${showCount(count)} branched${tokens}: ${reason}`;
    }),
    ...Object.entries(masked).map(([reason, count]) => `${showCount(count)} masked: ${reason}`),
    ...uncalledNotes(uncalled),
    ...problemNotes(problems),
    ...(unusedRewards === 0 ? [] : [`${showCount(unusedRewards)} own rewards unused`]),
  ];
}

/** `3 runs without a call` */
function uncalledNotes(uncalled: number): string[] {
  if (uncalled === 0) return [];
  return [`${showCount(uncalled)} ${uncalled === 1 ? "run" : "runs"} without a call`];
}

/** `8 runs earned 0: the program failed: exited with code 1` */
function problemNotes(problems: Readonly<Record<string, number>> = {}): string[] {
  return Object.entries(problems).map(
    ([problem, count]) => `${showCount(count)} ${count === 1 ? "run" : "runs"} earned 0: ${problem}`,
  );
}

/** What was lost to failures or missing rewards. */
export interface Losses {
  /** Episodes lost to failing services. */
  readonly failed: number;
  /** Actions without a reward, and actions whose verdict failed. */
  readonly unrewarded: number;
  readonly unjudged: number;
}

/** One note for each count above 0. */
export function lossNotes({ failed, unrewarded, unjudged }: Losses): string[] {
  return [
    ...(failed === 0 ? [] : [failedNote(failed)]),
    ...(unrewarded === 0 ? [] : [unrewardedNote(unrewarded)]),
    ...(unjudged === 0 ? [] : [unjudgedNote(unjudged)]),
  ];
}

/**
 * `coach: 2 of 64 calls failed, 5 retries`
 * @param all also of services that did everything they were asked for
 */
export function serviceNotes(services: ServiceCounts = {}, all = false): string[] {
  return Object.entries(services).flatMap(([name, { calls, faults = 0, failures = 0, retries = 0 }]) => {
    // Of some services only what failed is counted.
    const share = failures + faults < calls ? `of ${showCount(calls)} ` : "";
    const asked = `${share}${calls === 1 ? "call" : "calls"}`;
    const troubles = [
      ...(failures === 0 ? [] : [`${showCount(failures)} ${asked} failed`]),
      ...(faults === 0 ? [] : [`${showCount(faults)} ${asked} got no usable answer`]),
      ...(retries === 0 ? [] : [`${showCount(retries)} ${retries === 1 ? "retry" : "retries"}`]),
    ];
    if (troubles.length > 0) return [`${name}: ${troubles.join(", ")}`];
    return all ? [`${name}: ${showCount(calls)} ${calls === 1 ? "call" : "calls"}`] : [];
  });
}

/** `3 verdicts failed` */
function unjudgedNote(unjudged: number): string {
  return `${showCount(unjudged)} ${unjudged === 1 ? "verdict" : "verdicts"} failed`;
}

/** `3 actions without a reward` */
function unrewardedNote(unrewarded: number): string {
  return `${showCount(unrewarded)} ${unrewarded === 1 ? "action" : "actions"} without a reward`;
}

/** `2 episodes lost to failing services` */
export function failedNote(failed: number): string {
  return `${showCount(failed)} ${failed === 1 ? "episode" : "episodes"} lost to failing services`;
}

/** Team and local reward of each role: `scout 0.43 + 0.90`. */
export function rewardParts(metrics: StepMetrics): string[] {
  const roles = Object.entries(metrics.rollout?.roles ?? {});
  return roles.map(([name, role]) => `${name} ${showReward(role)}`);
}

/** What shows how a role learns: `scout: entropy 0.42, 61.0 % of the advantages, 12.5 % flat groups, 6.2 tokens`. */
export function roleParts({ rollout }: StepMetrics): string[] {
  return Object.entries(rollout?.roles ?? {}).flatMap(([name, role]) => {
    const { entropy, advantageShare, flatGroups, length, influence, influenceReplies: replies = 0 } = role;
    const shown = [
      ...(entropy === undefined ? [] : [`entropy ${showNumber(entropy)}`]),
      ...(advantageShare === undefined ? [] : [`${showShare(advantageShare)} of the advantages`]),
      ...(flatGroups === undefined ? [] : [`${showShare(flatGroups)} flat groups`]),
      ...(length === undefined ? [] : [`${showNumber(length)} tokens`]),
      ...(influence === undefined
        ? []
        : [`influence ${showNumber(influence)} (${showCount(replies)} replies)`]),
    ];
    return shown.length === 0 ? [] : [`${name}: ${shown.join(", ")}`];
  });
}

/**
 * Entropy and divergence, per policy if there are several; a step without an update has measured neither. The divergence
 * after one optimizer step on fresh samples is always 0 and says nothing.
 */
export function trustParts(metrics: StepMetrics): string[] {
  const policies = Object.entries(metrics.policies);
  const { mismatch = 0 } = metrics.rollout ?? {};
  const ofPolicies = policies.map(([name, { entropy, kl }]) => {
    const whose = policies.length > 1 ? `${name} ` : "";
    if (kl === undefined) return `${whose}no update`;
    const shown = [
      ...(entropy === undefined ? [] : [`entropy ${showNumber(entropy)}`]),
      ...(kl === 0 && entropy !== undefined ? [] : [`KL ${showNumber(kl)}`]),
    ];
    return whose + shown.join("  ");
  });
  return mismatch < shownMismatch ? ofPolicies : [...ofPolicies, `mismatch ${showNumber(mismatch)}`];
}

/** Of sampler and trainer, in nats per token. Rounding is below. */
const shownMismatch = 0.01;

/**
 * `watch, after step 40: entropy of planner is 0.001 nats per token, below 0.01 (success 3.1 %); returned to step 20,
 * learning rates × 0.5`
 */
export function watchLine({ step, action, returned, success, ...sign }: WatchRecord, steps: Steps): string {
  const warmSteps = steps["warm-start"];
  const isSuccess = sign.measure === "success" || sign.measure === "evaluation";
  const beside = isSuccess ? "" : ` (success ${showShare(success)})`;
  const done =
    returned === undefined
      ? { warn: "", stop: "; the run stops", return: "" }[action]
      : `; returned to step ${returned.to - warmSteps}, learning rates × ${showNumber(returned.learningRateFactor)}`;
  return `watch, after step ${step - warmSteps}: ${describeSign(sign)}${beside}${done}`;
}

const moments = { before: "before training", during: "at step", after: "after training" } as const;

type Steps = Readonly<Record<Stage, number>>;

/**
 * Steps are those of reinforcement, as in the other lines: `team before training: 31.4 % (27.5 to 35.6) of 500 tasks`
 * @param steps of the whole run; undefined: not known
 */
export function evaluationLine(evaluation: Evaluation, steps: Steps | undefined): string {
  const { team, tasks } = evaluation;
  const { failed = 0, uncalled = 0, problems, unjudged = 0, judged, calibration } = evaluation;
  const correlation = calibration?.correlation ?? null;
  const agreement =
    correlation === null ? "" : ` (rank correlation with the outcome ${correlation.toFixed(2)})`;
  const more = [
    ...(judged === undefined ? [] : [`judged ${judged.toFixed(2)} on average${agreement}`]),
    ...lossNotes({ failed, unrewarded: 0, unjudged }),
    ...uncalledNotes(uncalled),
    ...problemNotes(problems),
    ...serviceNotes(evaluation.services),
  ];
  const when = whenOf(evaluation, steps);
  return [`${team} ${when}: ${showInterval(evaluation)} of ${showTasks(tasks)}`, ...more].join(", ");
}

function whenOf({ moment, step }: Evaluation, steps: Steps | undefined): string {
  if (steps !== undefined && steps["warm-start"] + steps.reinforcement === 0) return "untrained";
  return moment === "during" ? `${moments.during} ${step - (steps?.["warm-start"] ?? 0)}` : moments[moment];
}

/** `warning: another engine computes the run from here on (threads 1 before, 2 now): …` */
export function engineChangedLine(
  changes: Extract<TrainEvent, { type: "engine-changed" }>["changes"],
): string {
  const parts = changes.map(({ name, before, now }) => `${name} ${before} before, ${now} now`);
  return (
    `warning: the run continues on a different engine (${parts.join("; ")}): ` +
    "numbers may differ in the last bits from those of an uninterrupted run"
  );
}

/** `31.4 % (27.5 to 35.6)` */
export function showInterval({ success, low, high }: Evaluation): string {
  return `${showShare(success)} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`;
}

/** One sample episode: the first board, each action with its reward, the last board. */
export function sampleLines(episode: SampleEpisode): string[] {
  const outcome = episode.success ? "solved" : `not solved, score ${episode.score.toFixed(2)}`;
  const turns = episode.turns === 1 ? "1 turn" : `${episode.turns} turns`;
  return [
    `sample episode: ${outcome} in ${turns}`,
    ...indent(episode.start),
    ...episode.actions.map(
      (action) =>
        `  turn ${action.turn + 1} ${action.role}: ${oneLine(action.text)}  [${showReward(action)}]`,
    ),
    ...indent(episode.end),
  ];
}

type Shown = Pick<SampleAction, "team" | "local" | "reason" | "verdict">;

function showReward({ team, local, reason, verdict }: Shown): string {
  const earned = team === null || local === null ? "no reward" : `${team.toFixed(2)} + ${local.toFixed(2)}`;
  const said = [reason, verdict].filter((each) => each !== undefined);
  return [earned, ...said.map((each) => showText(each, 120))].join(", ");
}

/** A drawing may contain model output: control characters must not reach the terminal. */
function indent(text: string): string[] {
  return showLines(text)
    .trimEnd()
    .split("\n")
    .map((line) => `    ${line}`);
}

/** Model output, which may be empty. */
function oneLine(text: string): string {
  return showText(text, 120) || "(nothing)";
}

/** @param label names a column. No lines if nothing was measured */
export function measureTable(
  evaluations: readonly Evaluation[],
  label: (evaluation: Evaluation) => string,
): string[] {
  const measured = evaluations.map(measuresOf);
  const names = [...new Set(measured.flatMap((each) => Object.keys(each)))];
  if (names.length === 0) return [];
  const rows = names.map((name) => [name, ...measured.map((each) => each[name] ?? "–")]);
  const teams = evaluations.map((each) => ({ title: label(each), align: "right" }) as const);
  return ["", ...stackedTables([{ title: "pass@k, terms of the reward" }, ...teams], rows, terminalWidth())];
}

function measuresOf({ passAt = {}, terms }: Evaluation): Readonly<Record<string, string>> {
  const passes = Object.entries(passAt).map(([k, { mean }]) => [`pass@${k}`, showShare(mean)]);
  const means = Object.entries(terms?.team ?? {}).map(([name, { mean }]) => [name, mean.toFixed(3)]);
  return Object.fromEntries([...passes, ...means]) as Record<string, string>;
}

/** Tokens sampled and trained on per second in the last step. */
export function tokensPerSecond(metrics: StepMetrics, timing: Timing): number {
  const trained = Object.values(metrics.policies).reduce((sum, policy) => sum + policy.tokens, 0);
  return timing.seconds === 0 ? 0 : (trained + (metrics.rollout?.sampledTokens ?? 0)) / timing.seconds;
}
