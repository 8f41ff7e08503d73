/** Evaluates a run from a program; `troupe eval` also mixes weights of several runs. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { checkArgument, functionSchema, pathSchema, signalSchema, strict } from "../arguments.ts";
import type { Engine } from "../engines/engine.ts";
import { retryingEngine } from "../engines/retrying.ts";
import { TroupeError } from "../errors.ts";
import { resolveRecipe, type ResolvedRecipe } from "../recipes/resolve.ts";
import { sampleProblems } from "../recipes/validation/rules/stages.ts";
import type { Episode } from "../rollout/episode.ts";
import { layoutOf } from "../runs/layout.ts";
import {
  openSavedRun,
  weightsOfPolicy,
  type SavedRun,
  type Weights,
  openTeam,
  type OpenTeam,
} from "../train/weights.ts";
import { evaluatePolicies, type EvaluationSetting } from "../train/evaluate.ts";
import { evaluationJudge } from "../train/judging.ts";
import { retriesOf, limitsOf } from "../train/failures.ts";
import type { Scores } from "../train/scores.ts";
import { namedTeams, type NamedTeam } from "../train/teams.ts";
import { withServices } from "../train/services.ts";

/** What is absent is as in the run's recipe. */
export interface EvaluateOptions {
  /** The run's folder. */
  readonly directory: string;
  /** The team's policies are created in it, and removed at the end; the caller closes it. */
  readonly engine: Engine;
  /** `team`, or a name under `evaluation.compare`. Default: team. */
  readonly team?: string;
  readonly split?: string;
  /** Distinct tasks; fewer if the split has fewer. */
  readonly tasks?: number;
  /** Episodes of each task. */
  readonly samples?: number;
  /** The k of pass@k, at most `samples`. */
  readonly passAt?: readonly number[];
  /** Of sampling; 0 is greedy. */
  readonly temperature?: number;
  /** Of sampling; tasks do not depend on it. Default: 0. */
  readonly seed?: number;
  readonly onProgress?: (done: number, episodes: number) => void;
  readonly signal?: AbortSignal;
}

export interface RunEvaluation {
  readonly scores: Scores;
  /** In the order of the tasks. */
  readonly episodes: readonly Episode[];
}

/** Zero tasks or a misspelled key would give another number without a word. */
const optionsSchema = strict({
  directory: pathSchema,
  engine: z.unknown(),
  team: z.string().optional(),
  split: z.string().optional(),
  tasks: z.int().min(1).optional(),
  samples: z.int().min(1).optional(),
  passAt: z.array(z.int().min(1)).optional(),
  temperature: z.number().min(0).optional(),
  seed: z.int().min(0).optional(),
  onProgress: functionSchema.optional(),
  signal: signalSchema.optional(),
});

type Choice = Omit<EvaluateOptions, "engine" | "team">;

/**
 * Plays the team of a run on tasks that it was not trained on, with the weights of its last checkpoint.
 * @throws TroupeError `bad_arguments`, `bad_run`, `cancelled`, `service`, and the engine's errors
 */
export async function evaluate(options: EvaluateOptions): Promise<RunEvaluation> {
  checkArgument("options", optionsSchema, options);
  const { engine: given, team = "team", ...choice } = options;
  const { directory } = choice;
  const run = await openSavedRun(directory);
  const resolved = await resolveRecipe(layoutOf(directory).recipe);
  const engine = retryingEngine(given, retriesOf(resolved.recipe));
  const chosen = teamOf(resolved, team);
  const scratch = await mkdtemp(path.join(tmpdir(), "troupe-models-"));
  try {
    const weights = await weightsOf(run, chosen, scratch);
    const opened = await openTeam(engine, resolved.environment, chosen.team, weights);
    try {
      return await play(choice, resolved, engine, opened);
    } finally {
      for (const name of Object.keys(opened.policies)) await engine.removePolicy(name);
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function play(
  { directory, ...choice }: Choice,
  resolved: ResolvedRecipe,
  engine: Engine,
  opened: OpenTeam,
): Promise<RunEvaluation> {
  const { recipe, environment } = resolved;
  const { split, tasks, samples, passAt, temperature, topP } = recipe.evaluation;
  const given = Object.entries(choice).filter(([, value]) => value !== undefined);
  const chosen = { split, tasks, samples, passAt, temperature, topP, ...Object.fromEntries(given) };
  const [mistake] = sampleProblems(chosen);
  if (mistake !== undefined) throw new TroupeError("bad_arguments", `${mistake.problem}; ${mistake.fix}`);
  await using judge = await evaluationJudge(resolved, directory);
  const setting: Omit<EvaluationSetting, "services"> = {
    ...chosen,
    ...opened,
    ...limitsOf(recipe),
    engine,
    environment,
    retries: retriesOf(recipe),
    failureLimit: recipe.failures.limit,
    judging: judge.judging,
  };
  const { scores, episodes } = await withServices(
    (services) => evaluatePolicies({ ...setting, services }),
    directory,
  );
  return { scores, episodes };
}

function teamOf({ recipe, environment }: ResolvedRecipe, wanted: string): NamedTeam {
  const teams = namedTeams(recipe, environment);
  const found = teams.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const known = teams.map(({ name }) => name).join(", ");
  throw new TroupeError("bad_arguments", `The recipe has no team ${wanted}; it has ${known}.`);
}

async function weightsOf(
  run: SavedRun,
  { team }: NamedTeam,
  scratch: string,
): Promise<Readonly<Record<string, Weights>>> {
  const entries: [string, Weights][] = [];
  for (const { name, policy } of team.roles)
    entries.push([name, await weightsOfPolicy(run, policy, scratch)]);
  return Object.fromEntries(entries);
}
