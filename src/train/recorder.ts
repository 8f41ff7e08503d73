/** Writes each record of a run to its folder, and its checkpoints, then emits it as an event. */
import type { Algorithm, CreditedAction } from "../credit/algorithm.ts";
import { whyUntrained } from "../credit/data.ts";
import { actionsTo } from "../credit/places.ts";
import type { Environment } from "../environments/environment.ts";
import { spentIn } from "../judges/coach/spending.ts";
import type { Action, Episode, EpisodeNode } from "../rollout/episode.ts";
import { nodeOf, rootOf, type Occurrence } from "../rollout/navigate.ts";
import { newEpisode, type ActionCredit } from "../rollout/stored.ts";
import type { EpisodeEntry } from "../runs/episode-entries.ts";
import type { NewEpisode } from "../runs/episode-log.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { readMetrics } from "../runs/read.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation, StepMetrics, Timing } from "../runs/records.ts";
import { saveReinforcement } from "./auxiliary.ts";
import { lineageAfter } from "./ended.ts";
import type { SampleAction, SampleEpisode } from "./events.ts";
import { flatWarnings, mismatchWarnings, outsideRange, patience, unusedWarning } from "./metrics.ts";
import { savePolicies } from "./policies.ts";
import { placeOf } from "./state.ts";
import type { Run, StepEpisodes, StepRecord } from "./state.ts";
import { trainedPolicies } from "./teams.ts";
import { bestOf } from "./watch.ts";

/** A step with what it sampled and credited, of reinforcement. */
export interface ReinforcementRecord extends StepRecord {
  readonly played: StepEpisodes;
  readonly credited: readonly CreditedAction[];
}

/** Commits a step: from here on it is done. */
export async function recordStep(run: Run, record: StepRecord | ReinforcementRecord): Promise<void> {
  const { metrics } = record;
  const timing = { ...record.timing, ...promptsSince(run), ...usedByCoach(run) };
  const sampled = "played" in record ? record : null;
  if (sampled !== null) reportRange(run, sampled.played.episodes);
  if (metrics.rollout?.unusedRewards !== undefined && !run.areUnusedReported) {
    run.emit({ type: "warning", ...unusedWarning(run.algorithm) });
    run.areUnusedReported = true;
  }
  await run.folder.recordStep(metrics, timing, sampled === null ? [] : stepEpisodes(run, sampled));
  run.emit({ type: "step", metrics, timing });
  if (sampled !== null) {
    show(run, metrics.step, sampled.played.episodes.slice(0, 1));
    await reportWarnings(run, metrics);
    run.history?.push(metrics);
  }
  run.step = metrics.step;
  run.lineage = lineageAfter(run.lineage, metrics);
}

/** Since the last record of this process. */
function promptsSince(run: Run): Pick<Timing, "prompts"> {
  const { computed = 0, reused = 0 } = run.engine.promptTokens ?? {};
  const prompts = { computed: computed - run.prompts.computed, reused: reused - run.prompts.reused };
  run.prompts = { computed, reused };
  return prompts.computed === 0 ? {} : { prompts };
}

function usedByCoach({ verdicts }: Run): Pick<Timing, "coach"> {
  const { requests, inputTokens, outputTokens, dollars } = spentIn(verdicts);
  const tokens = inputTokens + outputTokens;
  return requests === 0 ? {} : { coach: { tokens, ...(dollars > 0 ? { dollars } : {}) } };
}

function stepEpisodes(run: Run, { metrics, played, credited }: ReinforcementRecord): NewEpisode[] {
  const { every, perStep } = run.recipe.record.training;
  if ((metrics.stageStep - 1) % every !== 0) return [];
  const byEpisode = Map.groupBy(credited, ({ episode }) => episode);
  const recorded = perStep === "all" ? played.kept : played.kept.slice(0, perStep);
  return recorded.map((episode) => {
    const trained = (byEpisode.get(episode) ?? []).filter(({ action }) => !action.frozen);
    return recordOf(
      run,
      episode,
      { step: metrics.step, ...(run.algorithm.sampling.continued === "once" ? { branched: true } : {}) },
      trained.map((one) => creditOf(one, run.algorithm)),
    );
  });
}

function reportRange(run: Run, episodes: readonly Episode[]): void {
  if (run.isRangeReported) return;
  const warning = outsideRange(run.environment, episodes);
  if (warning === null) return;
  run.emit({ type: "warning", ...warning });
  run.isRangeReported = true;
}

async function reportWarnings(run: Run, metrics: StepMetrics): Promise<void> {
  // A resumed run counts the steps before, which its records have.
  const before = run.recent ?? (await readMetrics(run.folder.layout.directory)).slice(0, -1);
  run.recent = [...before, metrics].slice(-patience - 1);
  const warnings = [...flatWarnings(run.recent, run.algorithm), ...mismatchWarnings(run.recent)];
  for (const warning of warnings) run.emit({ type: "warning", ...warning });
}

/** Takes the episodes of an evaluation one by one; they count once the evaluation is recorded. */
export function evaluationEpisodes(
  run: Run,
  { moment, team }: Pick<Evaluation, "moment" | "team">,
): (episode: Episode) => Promise<void> {
  const limit = run.recipe.record.evaluation;
  const place = { step: run.step, evaluation: { moment, team } };
  let seen = 0;
  return async (episode) => {
    seen += 1;
    if (limit !== "all" && seen > limit) return;
    await run.folder.recordEpisode(recordOf(run, episode, place));
  };
}

/** Sample episodes shown for each evaluation. */
const samples = 2;

export async function recordEvaluation(
  run: Run,
  evaluation: Evaluation,
  timed: Timing,
  episodes: readonly Episode[],
): Promise<void> {
  const timing = { ...timed, ...promptsSince(run), ...usedByCoach(run) };
  await run.folder.recordEvaluation(evaluation, timing);
  run.emit({ type: "evaluation", evaluation, timing });
  show(run, evaluation.step, episodes.slice(0, samples));
}

/** After the last step of each stage, and at intervals. */
export async function checkpointIfDue(run: Run): Promise<void> {
  const { step, recipe } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const { stageStep } = placeOf(recipe, step);
  const isLast = step === warmSteps || step === warmSteps + recipe.train.steps;
  if (isLast || stageStep % recipe.checkpoint.every === 0) await checkpoint(run);
}

async function checkpoint(run: Run): Promise<void> {
  const { engine, stage, folder, step, bases, reinforcement, emit } = run;
  const { recipe, trained } = stage;
  emit({ type: "phase", phase: "saving" });
  const kept = { keep: recipe.checkpoint.keep, best: (await bestEvaluation(run))?.step ?? null };
  let unfinished: string | null = null;
  const { directory } = await folder.recordCheckpoint(step, kept, async (place) => {
    unfinished = place;
    return {
      schema_version: schemaVersion,
      step,
      ...placeOf(recipe, step),
      policies: await savePolicies(engine, place, trainedPolicies(recipe), trained),
      ...(bases === undefined ? {} : { bases }),
      ...(reinforcement === null
        ? {}
        : { reinforcement: await saveReinforcement(run, reinforcement, place) }),
    };
  });
  if (unfinished !== null) engine.moved?.(unfinished, directory);
  run.interrupts.saved();
  emit({ type: "checkpoint", step, directory });
}

/** A checkpoint of the last step, unless there is one. */
export async function keepStep(run: Run): Promise<void> {
  if (run.step > 0 && !(await checkpointsOf(run)).includes(run.step)) await checkpoint(run);
}

/** The checkpoint of the best evaluation stays, so there must be one; that of the best before may go. */
export async function keepBest(run: Run): Promise<void> {
  const best = await bestEvaluation(run);
  if (best?.step !== run.step) return;
  await keepStep(run);
  await run.folder.pruneCheckpoints({ keep: run.recipe.checkpoint.keep, best: best.step });
}

/**
 * Of the trained team so far, the earliest of equal ones. Null: the recipe keeps none, or nothing was evaluated but the
 * team before the first step, which has no checkpoint. @param first step that counts
 */
export async function bestEvaluation(
  { folder, stage, step, recipe }: Pick<Run, "folder" | "stage" | "step" | "recipe">,
  first = 1,
): Promise<Evaluation | null> {
  if (recipe.checkpoint.best === "none") return null;
  const [{ name }] = stage.teams;
  const own = (await folder.evaluations()).filter(
    (one) => one.team === name && one.step >= first && one.step <= step,
  );
  return bestOf(own);
}

export function checkpointsOf({ folder }: Run): Promise<number[]> {
  return checkpointSteps(folder.layout.checkpoints);
}

function show({ environment, emit }: Run, step: number, episodes: readonly Episode[]): void {
  emit({ type: "sample-episodes", step, episodes: sampleEpisodes(environment, episodes) });
}

/** The context in which an episode was sampled. */
type EpisodePlace = Pick<EpisodeEntry, "step" | "evaluation" | "branched">;

/** An episode with rendered states and prompts as text. */
function recordOf(
  { environment, stage: { policies } }: Run,
  episode: Episode,
  place: EpisodePlace,
  credit?: readonly ActionCredit[],
): NewEpisode {
  const nodes = episode.nodes.map((node) => ({ ...node, rendered: environment.render(node.state) }));
  const decode = (policy: string, tokens: Int32Array) => policies[policy]?.tokenizer.decode(tokens) ?? "";
  return newEpisode({ ...episode, nodes }, place, decode, credit);
}

function creditOf(credited: CreditedAction, algorithm: Algorithm): ActionCredit {
  const { action, group, advantage, advantages, leftOut } = credited;
  const isLevel = advantages.every((one) => one === advantages[0]);
  const untrained = credited.return === null ? null : whyUntrained(credited, algorithm);
  const why = leftOut !== undefined ? { leftOut } : untrained === null ? {} : { untrained };
  const given = { action: action.id, group, return: credited.return, advantage, ...why };
  return isLevel ? given : { ...given, advantages: [...advantages] };
}

/** The first kept trajectory of each episode that has one, for people. */
export function sampleEpisodes(environment: Environment, episodes: readonly Episode[]): SampleEpisode[] {
  return episodes.map((episode) => sampleEpisode(environment, episode)).filter((one) => one !== null);
}

function sampleEpisode(environment: Environment, episode: Episode): SampleEpisode | null {
  const end = episode.ends[0];
  if (end === undefined) return null;
  const last = nodeOf(episode, end.node);
  return {
    success: end.outcome.success,
    score: end.outcome.score,
    turns: end.turns,
    start: environment.render(rootOf(episode).state),
    end: environment.render(last.state),
    actions: actionsTo(episode, last).map(sampleAction),
  };
}

function sampleAction({ action, node, reward }: Occurrence): SampleAction {
  const { turn, role, reply } = action;
  const { team, local, reason } = reward ?? { team: null, local: null };
  const said = verdictOn(node, action);
  return {
    turn,
    role,
    text: reply.text,
    team,
    local,
    ...(reason === undefined ? {} : { reason }),
    ...(said === undefined ? {} : { verdict: said }),
  };
}

function verdictOn({ actions }: EpisodeNode, { id }: Action): string | undefined {
  const verdict = actions.find((edge) => edge.action === id)?.verdict;
  if (verdict === undefined) return undefined;
  return "failure" in verdict ? `no verdict: ${verdict.failure}` : verdict.explanation;
}
