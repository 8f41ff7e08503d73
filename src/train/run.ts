/**
 * The whole life of a run: warm start, evaluation, reinforcement, evaluation, with checkpoints. A run that was
 * interrupted, by a signal or by `kill -9`, resumes from its last checkpoint and ends with the same weights and records.
 */
import path from "node:path";
import { unrecordedCalls, type RecordedCalls } from "../calls/recorded.ts";
import { command } from "../command-line.ts";
import { retryingEngine } from "../engines/retrying.ts";
import { startLogging } from "../logging/start.ts";
import { isPresentSync } from "../present.ts";
import { rootKey } from "../random.ts";
import { incidentalOptions } from "../recipes/catalog.ts";
import { showPath } from "../recipes/tree.ts";
import { yamlOfRun } from "../recipes/write.ts";
import { checkHosted } from "../rollout/hosted.ts";
import { openRecordedCalls } from "../runs/recorded-calls.ts";
import { readWatch } from "../runs/read.ts";
import { openRun, removeUnbegun, type Run as RunFolder } from "../runs/run.ts";
import { buildTeam } from "../teams/build.ts";
import { lineageOf } from "./ended.ts";
import { checkpointIfDue } from "./recorder.ts";
import { endWith, finish, interrupt, interrupted, type TrainOutcome } from "./end.ts";
import { evaluateIfDue, previewIfDue } from "./evaluations.ts";
import type { Stage } from "./events.ts";
import { retriesOf } from "./failures.ts";
import { noteInputs } from "./inputs.ts";
import { attendServers, Interrupts, samplingSignal, silenceOf } from "./interrupts.ts";
import { startJudging, type Judging } from "./judging.ts";
import { checkMemory } from "./memory.ts";
import { checkTools, openPolicies, restorePolicies } from "./policies.ts";
import { openTools, servicesOf, type RunServices } from "./services.ts";
import { sftStep } from "./sft.ts";
import { placeOf } from "./state.ts";
import type { OpenStage, Run, TrainOptions } from "./state.ts";
import { trainStep } from "./step.ts";
import { actOnSigns } from "./watching.ts";
import { basesOf, checkBase, learningPolicies, namedTeams, saveBases } from "./teams.ts";
import { sftModels, sftPolicies, warmStartRecipe } from "./teams.ts";

export type { TrainOutcome } from "./end.ts";

/**
 * Trains, or resumes. @throws TroupeError `bad_run`, `bad_model`, `bad_recipe` (diverged), `service`, and the engine's
 * errors
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const { recipe, directory, engine, onEvent } = options;
  await using closing = new AsyncDisposableStack();
  // A folder in which nothing was recorded would be listed as a run.
  if (!isPresentSync(directory)) closing.defer(() => removeUnbegun(directory));
  const interrupts = closing.use(new Interrupts(options));
  const yaml = await yamlOfRun(recipe, directory);
  const folder = closing.use(await openRun(directory, yaml, incidentalOptions(recipe.judge)));
  if (folder.result !== null) {
    onEvent?.({ type: "finished", result: folder.result, alreadyDone: true });
    return { status: "finished", result: folder.result };
  }
  closing.use(attendServers(options));
  const logging = startLogging(directory, recipe.logging, (problem) =>
    onEvent?.({ type: "warning", key: "logging", problem, fix: exportLater(directory) }),
  );
  closing.defer(() => logging.end());
  try {
    await using opened = new AsyncDisposableStack();
    return await runSteps(await open(options, folder, interrupts, opened));
  } catch (thrown) {
    // What ended the run is reported, not what could not be closed then.
    const error = firstOf(thrown);
    if (!interrupts.isCause(error)) throw error;
    const step = folder.checkpoint?.state.step ?? null;
    return interrupted(onEvent, step ?? 0, step, silenceOf(engine));
  }
}

function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error;
}

/** Takes every step that remains, with the evaluations and checkpoints between them. */
async function runSteps(run: Run): Promise<TrainOutcome> {
  const { recipe, interrupts } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  let stage: Stage | null = null;
  try {
    while (await evaluateIfDue(run)) {
      await actOnSigns(run);
      if (run.step === warmSteps + recipe.train.steps) return await finish(run);
      if (interrupts.isStopped) break;
      const next = placeOf(recipe, run.step + 1);
      if (next.stage !== stage) announceStage(run, next.stage, next.stageStep - 1);
      stage = next.stage;
      await previewIfDue(run);
      await (stage === "warm-start" ? sftStep(run, next.stageStep) : trainStep(run, next.stageStep));
      interrupts.stepDone();
      await checkpointIfDue(run);
      if (run.step === warmSteps) await endWarmStart(run);
    }
    return await interrupt(run);
  } catch (error) {
    return await endWith(run, error);
  }
}

/**
 * Opens what the steps need, and restores it from the last checkpoint. What is missing is reported now, not after a warm
 * start.
 */
async function open(
  options: TrainOptions,
  folder: RunFolder,
  interrupts: Interrupts,
  closing: AsyncDisposableStack,
): Promise<Run> {
  const { recipe, environment, judge } = options;
  const services = await servicesOf(folder);
  closing.defer(() => services.close());
  if (folder.checkpoint === null) await environment.checkMachine?.();
  const { runsPrograms, packages } = environment;
  if (runsPrograms === true) await interrupts.read(services.openSandbox(packages));
  const teams = namedTeams(recipe, environment);
  checkHosted(teams.flatMap(({ team }) => team.hosted ?? []));
  await interrupts.read(openTools(teams, services, retriesOf(recipe), interrupts.reading));
  const verdicts = judge === undefined ? unrecordedCalls() : await openRecordedCalls(folder.layout.verdicts);
  const sampling = samplingSignal(recipe, interrupts);
  const judging = openJudging(options, folder, verdicts, services, sampling);
  closing.defer(async () => judging?.close());
  const opened = { folder, services, verdicts, judging, interrupts, sampling, closing };
  return interrupts.read(begin(options, opened));
}

function openJudging(
  { recipe, environment, judge, onEvent }: TrainOptions,
  { layout }: RunFolder,
  calls: RecordedCalls,
  { log }: RunServices,
  signal: AbortSignal,
): Judging | null {
  if (judge === undefined) return null;
  const report = (notice: string) => onEvent?.({ type: "judge-paused", notice });
  const team = buildTeam(recipe.team, environment);
  const show = command("coach", "show", showPath(layout.directory), "--failures");
  const context = { environment, team, calls, retries: retriesOf(recipe), log, signal, report, show };
  return startJudging(judge, context, recipe.failures.limit);
}

/** The run at its start, or after its last checkpoint. */
async function begin(
  options: TrainOptions,
  opened: Pick<Run, "folder" | "services" | "verdicts" | "judging" | "interrupts" | "sampling" | "closing">,
): Promise<Run> {
  const { recipe, environment, algorithm, judge, onEvent: emit = () => {} } = options;
  const { checkpoint, layout } = opened.folder;
  const engine = retryingEngine(options.engine, retriesOf(recipe));
  const { step = 0, stage = placeOf(recipe, 1).stage, bases } = checkpoint?.state ?? {};
  const resolved = { recipe, environment, algorithm, ...(judge === undefined ? {} : { judge }) };
  const run: Run = {
    ...resolved,
    ...opened,
    engine,
    root: rootKey(recipe.seed),
    emit,
    previews: options.preview === true,
    step,
    lineage: "",
    stage: await openStage({ recipe, environment, engine }, layout.models, stage, bases),
    bases,
    examples: null,
    reinforcement: null,
    batches: null,
    prompts: engine.promptTokens ?? { computed: 0, reused: 0 },
    isRangeReported: false,
    areUnusedReported: false,
    recent: null,
    history: null,
    learningRateFactor:
      (await readWatch(layout.directory)).findLast(({ returned }) => returned !== undefined)?.returned
        ?.learningRateFactor ?? 1,
  };
  await checkMemory(run);
  announce(run);
  await noteInputs(options, run);
  run.lineage = await lineageOf(run.folder);
  if (checkpoint !== null) {
    await restorePolicies(engine, checkpoint.directory, checkpoint.state.policies);
    const { step: done, stageStep } = checkpoint.state;
    emit({ type: "resumed", step: done, stage, stageStep });
  }
  if (step > 0 && step === recipe.warmStart?.steps) await endWarmStart(run);
  return run;
}

async function openStage(
  { recipe: whole, environment, engine }: Pick<Run, "recipe" | "environment" | "engine">,
  models: string,
  stage: Stage,
  bases: Run["bases"],
): Promise<OpenStage> {
  const isWarm = stage === "warm-start";
  const recipe = isWarm ? warmStartRecipe(whole) : whole;
  const fromSft = isWarm ? undefined : sftModels(whole, models, bases ?? {});
  for (const base of isWarm ? [] : Object.values(bases ?? {})) await checkBase(base, models);
  const policies = await openPolicies(engine, recipe, environment, models, fromSft);
  const teams = namedTeams(recipe, environment);
  const roles = teams.flatMap(({ team }) => team.roles);
  checkTools(roles, policies);
  return { recipe, policies, teams, trained: isWarm ? sftPolicies(recipe) : learningPolicies(recipe) };
}

/**
 * Policies start reinforcement from what the warm start has made; those without a trained role stay as they are. After
 * a warm start of bases, they are other policies.
 */
async function endWarmStart(run: Run): Promise<void> {
  const { recipe, engine, stage, folder } = run;
  const { models } = folder.layout;
  if (basesOf(recipe).size === 0) {
    run.stage = { ...stage, trained: learningPolicies(recipe) };
    return;
  }
  const bases = await saveBases(engine, recipe, stage.policies, models);
  run.stage = await openStage(run, models, "reinforcement", bases);
  run.bases = bases;
}

function announce({ emit, folder, recipe, engine, stage }: Run): void {
  emit({
    type: "run-started",
    run: path.basename(folder.layout.directory),
    recipe: recipe.name,
    engine: engine.description,
    policies: Object.values(stage.policies).map(({ info }) => ({
      name: info.name,
      parameters: info.parameters,
      trainableParameters: info.trainableParameters,
      trained: stage.trained.has(info.name),
    })),
    steps: { "warm-start": recipe.warmStart?.steps ?? 0, reinforcement: recipe.train.steps },
  });
}

function announceStage({ emit, recipe }: Run, stage: Stage, done: number): void {
  const steps = stage === "warm-start" ? (recipe.warmStart?.steps ?? 0) : recipe.train.steps;
  emit({ type: "stage-started", stage, steps, done });
}

function exportLater(directory: string): string {
  const exporting = command("runs", "export", showPath(directory), "--to", "SINK");
  return `training continues; \`${exporting}\` sends later what is missing`;
}
