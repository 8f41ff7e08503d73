/**
 * Acts on the signs of a collapse, between two steps: warns, stops, or returns to the best checkpoint with half the
 * learning rate.
 *
 * A return changes weights and moments in memory, and one line of watch.jsonl. It is not part of a checkpoint: a run that
 * resumes from the checkpoint of its step finds the same sign in its records, and returns again. So it may be killed at any
 * moment.
 */
import { isDeepStrictEqual } from "node:util";
import type { StoredPolicy } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { checkpointOf } from "../runs/checkpoints.ts";
import { readMetrics, readWatch } from "../runs/read.ts";
import { schemaVersion, type WatchRecord } from "../runs/records.ts";
import { sum } from "../statistics.ts";
import { openReinforcement, reopenCritics } from "./auxiliary.ts";
import { lineageAfterReturn } from "./ended.ts";
import { bestEvaluation, keepStep } from "./recorder.ts";
import { placeOf, showStep, type ReinforcementState, type Run } from "./state.ts";
import { describeSign, signsIn, watchOf, type Sign } from "./watch.ts";

/** @throws TroupeError `watch` if a limit stops the run, after a checkpoint */
export async function actOnSigns(run: Run): Promise<void> {
  const { recipe, step } = run;
  if (watchOf(recipe)?.limits === undefined) return;
  if (step === 0 || placeOf(recipe, step).stage === "warm-start") return;
  const records = await readWatch(run.folder.layout.directory);
  const signs = signsIn(await watchedOf(run, records));
  for (const sign of signs.filter(({ action }) => action === "warn")) await note(run, sign, "warn");
  const grave =
    signs.find(({ action }) => action === "stop") ?? signs.find(({ action }) => action === "return");
  if (grave === undefined) return;
  if (step === (recipe.warmStart?.steps ?? 0) + recipe.train.steps) return note(run, grave, "warn");
  if (grave.action === "stop") return stop(run, grave, "");
  await returnToBest(run, grave, records);
}

async function watchedOf(run: Run, records: readonly WatchRecord[]): Promise<Parameters<typeof signsIn>[0]> {
  const { recipe, folder, stage } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const watch = watchOf(recipe);
  if (watch === null) throw new TroupeError("internal", "nothing is watched");
  run.history ??= (await readMetrics(folder.layout.directory)).filter((one) => one.step > warmSteps);
  const [{ name, team }] = stage.teams;
  return {
    watch,
    roles: team.roles.filter(({ frozen }) => !frozen).map((role) => role.name),
    metrics: run.history,
    evaluations: (await folder.evaluations()).filter((one) => one.team === name && one.step >= warmSteps),
    since: records.findLast(({ action }) => action === "return")?.step ?? 0,
  };
}

/** Records what happened, unless the run stopped right after it was recorded and has resumed from there. */
async function note(
  run: Run,
  sign: Sign,
  action: WatchRecord["action"],
  returned?: WatchRecord["returned"],
): Promise<void> {
  const record: WatchRecord = {
    schema_version: schemaVersion,
    step: run.step,
    ...sign,
    action,
    ...(returned === undefined ? {} : { returned }),
  };
  const recorded = await readWatch(run.folder.layout.directory);
  if (!recorded.some((one) => isDeepStrictEqual(one, record))) await run.folder.recordWatch(record);
  run.emit({ type: "watch", record });
}

async function stop(run: Run, sign: Sign, why: string): Promise<never> {
  await note(run, sign, "stop");
  await keepStep(run);
  throw new TroupeError(
    "watch",
    `The run stopped after ${showStep(run.recipe, run.step)}: ${describeSign(sign)} (watch.limits.${sign.measure})${why}. ` +
      "Lower the learning rate and start a new run, or resume this one with other limits, such as `watch=off`.",
  );
}

/** Learning rates are multiplied by this at each return. */
const half = 0.5;

async function returnToBest(run: Run, sign: Sign, records: readonly WatchRecord[]): Promise<void> {
  const { recipe, engine } = run;
  const done = records.filter(({ action }) => action === "return").length;
  const most = watchOf(recipe)?.returns ?? 0;
  if (done >= most)
    return stop(run, sign, `, and it has already returned as often as watch.returns allows (${most})`);
  run.reinforcement ??= await openReinforcement(run);
  // Of the weights before the return: a run that stops here and resumes returns again, unless its recipe no longer asks.
  await keepStep(run);
  const best = await bestStored(run);
  if (typeof best === "string") return stop(run, sign, `, and ${best}`);
  const since = (run.history ?? []).filter(({ step }) => step > best.step);
  const returns = records.filter(({ action, step }) => action === "return" && step >= best.step).length;
  for (const [name, { saved, folder }] of Object.entries(best.policies)) {
    // Versions are counted on, and the return counts as a step: otherwise the weights before it would have its version.
    const steps = sum(since.map(({ policies }) => policies[name]?.optimizerSteps ?? 0));
    const version = saved.version + steps + returns + 1;
    await engine.restore(name, { saved: { ...saved, version }, folder });
  }
  await reopenCritics(run, run.reinforcement, best.critics);
  run.reinforcement = { ...run.reinforcement, ...best.state };
  run.learningRateFactor *= half;
  run.lineage = lineageAfterReturn(run.lineage, best.step);
  await note(run, sign, "return", { to: best.step, learningRateFactor: run.learningRateFactor });
}

interface Best {
  readonly step: number;
  /** Of the policies that learn. */
  readonly policies: Readonly<Record<string, StoredPolicy>>;
  /** Null: as they were at the start of reinforcement. */
  readonly critics: Readonly<Record<string, StoredPolicy>> | null;
  readonly state: Pick<ReinforcementState, "klCoefficients" | "baselines">;
}

/**
 * The checkpoint of the best evaluation, or the policies as they were at the start of reinforcement; text: why there is
 * none.
 */
async function bestStored(run: Run): Promise<Best | string> {
  const { recipe, folder, stage, reinforcement } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const best = await bestEvaluation(run, warmSteps);
  const trained = [...stage.trained];
  if (best !== null && best.step > warmSteps) {
    const found = await checkpointOf(folder.layout.checkpoints, best.step).catch((error: unknown) => {
      if (error instanceof TroupeError && error.code === "bad_run")
        return `the checkpoint of step ${best.step}, the best, is damaged`;
      throw error;
    });
    if (typeof found === "string") return found;
    if (found === null) return `there is no checkpoint of step ${best.step}, the best`;
    const { directory: place, state } = found;
    const storedIn = (saved: typeof state.policies) =>
      Object.fromEntries(Object.entries(saved).map(([name, one]) => [name, { saved: one, folder: place }]));
    const { critics = {}, klCoefficients = {}, baselines = {} } = state.reinforcement ?? {};
    const policies = Object.fromEntries(
      Object.entries(storedIn(state.policies)).filter(([name]) => stage.trained.has(name)),
    );
    return { step: best.step, policies, critics: storedIn(critics), state: { klCoefficients, baselines } };
  }
  const beginning = trained.map((name) => [name, reinforcement?.beginning[name]] as const);
  if (beginning.some(([, saved]) => saved?.kind !== "checkpoint"))
    return "there is no checkpoint to return to";
  const policies = beginning.map(([name, saved]) => [name, { saved, folder: folder.layout.beginning }]);
  return {
    step: warmSteps,
    policies: Object.fromEntries(policies) as Best["policies"],
    critics: null,
    state: { klCoefficients: {}, baselines: {} },
  };
}
