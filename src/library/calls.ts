/**
 * The functions that programs call. Callers in JavaScript may pass anything: whatever is wrong is a TroupeError
 * `bad_arguments` that names the argument.
 */
import { checkArgument, pathSchema } from "../arguments.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import { standardRetries, type RetryOptions } from "../calls/retry.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import * as algorithms from "../credit/algorithms.ts";
import type { Engine } from "../engines/engine.ts";
import * as retries from "../engines/retrying.ts";
import type { Environment } from "../environments/environment.ts";
import type { Key } from "../random.ts";
import { builtInCatalog, type Catalog } from "../recipes/catalog.ts";
import * as recipes from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import * as grow from "../rollout/grow.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import * as stored from "../rollout/stored.ts";
import * as runs from "../runs/read.ts";
import * as recorded from "../runs/recorded-calls.ts";
import type { Evaluation, RunResult, StepMetrics } from "../runs/records.ts";
import * as sandboxes from "../sandbox/open.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import * as teams from "../teams/build.ts";
import type { Team } from "../teams/team.ts";
import type { JsonObject } from "../text/files.ts";
import * as tokenizers from "../text/tokenizer.ts";
import type { TrainOptions } from "../train/state.ts";
import * as training from "../train/run.ts";
import { evaluateRun, type EvaluateOptions, type RunEvaluation } from "./evaluate.ts";
import { listening } from "./listening.ts";
import { ownPolicies } from "./own-policies.ts";
import * as schemas from "./schemas.ts";

/**
 * Reads, merges and checks a recipe.
 * @param recipe a file, or the name of an included recipe, such as `plan-path`
 * @param overrides `key.path=value`; later ones win
 * @param catalog what names in recipes refer to. Default: everything that is built in
 * @throws RecipeError listing every mistake; TroupeError `bad_arguments` if there is no such recipe
 */
export async function resolveRecipe(
  recipe: string,
  overrides: readonly string[] = [],
  catalog: Catalog = builtInCatalog,
): Promise<recipes.ResolvedRecipe> {
  checkArgument("recipe", pathSchema, recipe);
  checkArgument("overrides", schemas.overrides, overrides);
  checkArgument("catalog", schemas.catalog, catalog);
  return recipes.resolveRecipe(findRecipe(recipe), overrides, catalog);
}

/**
 * Trains the recipe in a run folder, or resumes the run there. The run's policies are removed from the engine at the
 * end, which may then be used for another run or its evaluation.
 * @throws TroupeError `bad_arguments`, `bad_run`, `in_use`, `bad_model`, `bad_recipe` (diverged), `service`, and the
 * engine's errors
 */
export async function train(options: TrainOptions): Promise<training.TrainOutcome> {
  checkArgument("options", schemas.trainOptions, options);
  const { engine, remove } = ownPolicies(options.engine);
  const { onEvent, end } = listening(options.onEvent ?? (() => {}));
  try {
    const outcome = await training.train({ ...options, engine, onEvent });
    end();
    return outcome;
  } finally {
    remove();
  }
}

/**
 * Plays the team of a run on tasks that it was not trained on, with the weights of its last checkpoint.
 * @throws TroupeError `bad_arguments`, `bad_run`, `cancelled`, `service`, and the engine's errors
 */
export async function evaluate(options: EvaluateOptions): Promise<RunEvaluation> {
  checkArgument("options", schemas.evaluateOptions, options);
  return evaluateRun(options);
}

/** The lines of a run's `metrics.jsonl`; none before its first step. @throws TroupeError `bad_run` if it is damaged, or no run */
export async function readMetrics(directory: string): Promise<StepMetrics[]> {
  checkArgument("directory", pathSchema, directory);
  await runs.checkIsRun(directory);
  return runs.readMetrics(directory);
}

/** The lines of a run's `evaluations.jsonl`. @throws TroupeError `bad_run` if it is damaged, or no run */
export async function readEvaluations(directory: string): Promise<Evaluation[]> {
  checkArgument("directory", pathSchema, directory);
  await runs.checkIsRun(directory);
  return runs.readEvaluations(directory);
}

/** A run's `result.json`. @throws TroupeError `bad_run` if the run is not finished */
export async function readResult(directory: string): Promise<RunResult> {
  checkArgument("directory", pathSchema, directory);
  await runs.checkIsRun(directory);
  return runs.readResult(directory);
}

/** The runs in a folder, by name, finished or not; damaged ones are listed as such. */
export async function listRuns(root: string): Promise<runs.RunSummary[]> {
  checkArgument("root", pathSchema, root);
  return runs.listRuns(root);
}

/**
 * The run's episodes in stored order, one at a time; none if it stores none.
 * @throws TroupeError `bad_run` if a file is damaged, or there is no run
 */
export async function* readEpisodes(
  directory: string,
  selection: stored.EpisodeSelection = {},
): AsyncGenerator<stored.StoredEpisode> {
  checkArgument("directory", pathSchema, directory);
  checkArgument("selection", schemas.selection, selection);
  await runs.checkIsRun(directory);
  yield* stored.readEpisodes(directory, selection);
}

/**
 * The tokenizer and chat template of a model directory.
 * @param templateVariables passed to the template, such as `{ enable_thinking: false }`
 * @throws TroupeError `bad_model` for missing or damaged files
 */
export function loadTokenizer(directory: string, templateVariables: JsonObject = {}): tokenizers.Tokenizer {
  checkArgument("directory", pathSchema, directory);
  checkArgument("templateVariables", schemas.templateVariables, templateVariables);
  return tokenizers.loadTokenizer(directory, templateVariables);
}

/** The team in the environment; absent settings of a role are those of its seat. */
export function buildTeam(input: teams.TeamInput, environment: Environment): Team {
  checkArgument("team", schemas.teamInput, input);
  checkArgument("environment", schemas.environment, environment);
  return teams.buildTeam(input, environment);
}

/**
 * An algorithm of recipes, with its default options where none are given.
 * @throws TroupeError `bad_recipe` if there is no such algorithm, or no such option
 */
export function algorithmFrom(name: string, options: Readonly<Record<string, unknown>> = {}): Algorithm {
  checkArgument("name", schemas.text, name);
  checkArgument("options", schemas.options, options);
  return algorithms.algorithmFrom(name, options);
}

/**
 * The best sandbox of this machine, for programs that models write.
 * @throws TroupeError `no_sandbox` with each backend's problem and fix
 */
export async function openSandbox(options: sandboxes.SandboxOptions = {}): Promise<Sandbox> {
  checkArgument("options", schemas.sandboxOptions, options);
  return sandboxes.openSandbox(options);
}

/** Answers of services recorded in a file, by the hash of the question. @throws TroupeError `bad_run` if it is damaged */
export async function openRecordedCalls(file: string): Promise<RecordedCalls> {
  checkArgument("file", pathSchema, file);
  return recorded.openRecordedCalls(file);
}

/**
 * Samples episodes concurrently, as many as the setting allows; the engine batches requests. An episode that a service
 * fails does not affect the others. Any other error is thrown after the others have finished.
 * @param root with an episode's `path`, it determines every random choice
 */
export async function growEpisodes(
  setting: RolloutSetting,
  root: Key,
  starts: readonly EpisodeStart[],
): Promise<grow.Grown> {
  checkArgument("setting", schemas.rolloutSetting, setting);
  checkArgument("root", schemas.key, root);
  checkArgument("starts", schemas.episodeStarts, starts);
  return grow.growEpisodes(setting, root, starts);
}

/** Returns the engine itself if it already retries. An aborted signal of a verb also ends its retries. */
export function retryingEngine(engine: Engine, options: RetryOptions = standardRetries): Engine {
  checkArgument("engine", schemas.engine, engine);
  checkArgument("options", schemas.retryOptions, options);
  return retries.retryingEngine(engine, options);
}
