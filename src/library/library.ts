/**
 * The functions that programs call where the command line does something else, too: finding recipes by name, telling
 * whether a folder is a run's, opening a sandbox. Types say what arguments are. What is checked here is what types of
 * JavaScript do not show, and what would change a number without a word: a misspelled key, a name that is not in a list.
 */
import { z } from "zod";
import { checkArgument, strict } from "../arguments.ts";
import type { CreditedAction } from "../credit/algorithm.ts";
import type { Environment } from "../environments/environment.ts";
import * as judging from "../judges/judge-episode.ts";
import type { Judge, JudgeUse } from "../judges/judge.ts";
import type { Key } from "../random.ts";
import { builtInCatalog, type Catalog } from "../recipes/catalog.ts";
import * as recipes from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { checkEpisode } from "../rollout/codec.ts";
import type { Episode } from "../rollout/episode.ts";
import * as grow from "../rollout/grow.ts";
import type { EpisodeStart } from "../rollout/record.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import * as stored from "../rollout/stored.ts";
import * as runs from "../runs/read.ts";
import type { Evaluation, RunResult, StepMetrics } from "../runs/records.ts";
import * as sandboxes from "../sandbox/open.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import * as teams from "../teams/build.ts";
import type { Team } from "../teams/team.ts";
import * as rescoring from "../train/replay.ts";

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
  return recipes.resolveRecipe(findRecipe(recipe), overrides, catalog);
}

/** The lines of a run's `metrics.jsonl`; none before its first step. @throws TroupeError `bad_run` if it is damaged, or no run */
export async function readMetrics(directory: string): Promise<StepMetrics[]> {
  await runs.checkIsRun(directory);
  return runs.readMetrics(directory);
}

/** The lines of a run's `evaluations.jsonl`. @throws TroupeError `bad_run` if it is damaged, or no run */
export async function readEvaluations(directory: string): Promise<Evaluation[]> {
  await runs.checkIsRun(directory);
  return runs.readEvaluations(directory);
}

/** A run's `result.json`. @throws TroupeError `bad_run` if the run is not finished */
export async function readResult(directory: string): Promise<RunResult> {
  await runs.checkIsRun(directory);
  return runs.readResult(directory);
}

const selectionSchema = strict({
  step: z.int().min(0).optional(),
  from: z.enum(["training", "evaluations"]).optional(),
  moment: z.enum(["before", "during", "after"]).optional(),
  team: z.string().optional(),
  id: z.string().optional(),
});

/**
 * The run's episodes in stored order, one at a time; none if it stores none.
 * @throws TroupeError `bad_run` if a file is damaged, or there is no run
 */
export async function* readEpisodes(
  directory: string,
  selection: stored.EpisodeSelection = {},
): AsyncGenerator<stored.StoredEpisode> {
  checkArgument("selection", selectionSchema, selection);
  await runs.checkIsRun(directory);
  yield* stored.readEpisodes(directory, selection);
}

const roleSchema = strict({
  policy: z.string(),
  seat: z.string().optional(),
  prompt: z.string().optional(),
  frozen: z.boolean().optional(),
  memory: z.enum(["turn", "conversation"]).optional(),
  maxTokens: z.int().min(1).optional(),
  stop: z.array(z.string()).optional(),
  showThinking: z.boolean().optional(),
  tools: z.array(z.looseObject({})).optional(),
  toolCalls: z.int().min(1).optional(),
});

const hostedSchema = z.looseObject({ provider: z.string(), model: z.string() });

const teamSchema = strict({
  roles: z.record(z.string(), roleSchema),
  hosted: z.record(z.string(), hostedSchema).optional(),
  phases: z.array(z.array(z.string())),
  turns: z.int().min(1),
});

/** The team in the environment; absent settings of a role are those of its seat. */
export function buildTeam(input: teams.TeamInput, environment: Environment): Team {
  checkArgument("team", teamSchema, input);
  return teams.buildTeam(input, environment);
}

/** Of a setting, what decides which actions are sampled. */
const samplerSchema = z.looseObject({
  scheme: strict({
    branch: strict({ root: z.int().min(1), inner: z.int().min(1) }),
    keep: z.enum(["all", "best", "first", "random"]),
    joint: z.enum(["aligned", "cross"]).optional(),
    rounds: z.literal(true).optional(),
    stopAbove: z.number().optional(),
  }),
  sampling: strict({
    temperature: z.number().min(0),
    topK: z.int().min(1).optional(),
    topP: z.number().optional(),
  }),
  concurrency: z.int().min(1).nullable(),
});

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
  checkArgument("setting", samplerSchema, setting);
  return grow.growEpisodes(setting, root, starts);
}

const sandboxSchema = strict({
  backend: z.enum(sandboxes.backendNames).optional(),
  python: z.string().optional(),
  image: z.string().optional(),
  url: z.string().optional(),
  unisolated: z.boolean().optional(),
  workers: z.int().min(1).max(1024).optional(),
  limits: z.record(z.string(), z.number()).optional(),
  proofs: z.unknown().optional(),
  service: z.unknown().optional(),
  packages: z.unknown().optional(),
});

/**
 * The best sandbox of this machine, for programs that models write.
 * @throws TroupeError `no_sandbox` with each backend's problem and fix
 */
export async function openSandbox(options: sandboxes.SandboxOptions = {}): Promise<Sandbox> {
  checkArgument("options", sandboxSchema, options);
  return sandboxes.openSandbox(options);
}

const useSchema = z.looseObject({
  fills: z.enum(["missing", "all"]),
  as: z.enum(["team", "local"]),
  outcomeWeight: z.number().optional(),
});

/**
 * Returns the episode with verdicts on the actions that have none yet, and the resulting rewards. An action whose
 * verdict failed has no reward.
 * @throws TroupeError `cancelled`
 */
export async function judgeEpisode(episode: Episode, judge: Judge, use: JudgeUse): Promise<Episode> {
  checkArgument("use", useSchema, use);
  return judging.judgeEpisode(episode, judge, use);
}

const rescoringSchema = strict({
  algorithm: z.unknown(),
  judge: strict({
    judge: z.unknown(),
    use: useSchema,
    knowsEnds: z.boolean().optional(),
    normalised: z.unknown().optional(),
  }).optional(),
});

/**
 * Credits recorded episodes again, with another algorithm or judge.
 * @param episodes Of one step: comparisons and whitening over a batch apply to these.
 * @throws TroupeError `unsupported` if the algorithm needs something that is not recorded, or another tree
 */
export async function rescore(
  episodes: readonly Episode[],
  how: rescoring.Rescoring,
): Promise<CreditedAction[]> {
  // Programs change rewards by hand, and one that is no number would become credit that is none.
  for (const [index, episode] of episodes.entries()) checkEpisode(`episodes.${index}`, episode);
  checkArgument("rescoring", rescoringSchema, how);
  return rescoring.rescore(episodes, how);
}
