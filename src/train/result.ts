/** Makes result.json from the records of a finished run. */
import path from "node:path";
import type { PolicyOptions, StoredPolicy } from "../engines/engine.ts";
import { savedDirectory } from "../engines/saved.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Checkpoint } from "../runs/checkpoints.ts";
import type { Run } from "../runs/run.ts";
import { readMetrics } from "../runs/read.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation, RunResult, StepMetrics, Timing } from "../runs/records.ts";
import { sum } from "../statistics.ts";
import { flatStreaks, patience } from "./flat-roles.ts";
import { summedCounts } from "./service-use.ts";
import type { OpenPolicies } from "./policies.ts";

/**
 * @param engine its description
 * @param last null: no step was taken
 */
export async function buildResult(
  recipe: Recipe,
  engine: string,
  run: Run,
  policies: OpenPolicies,
  last: Checkpoint | null,
): Promise<RunResult> {
  const evaluations = await run.evaluations();
  const metrics = await readMetrics(run.layout.directory);
  const sampledInTraining = sum(metrics.map(({ rollout }) => rollout?.sampledTokens ?? 0));
  // A run that was extended has an earlier evaluation of this kind.
  const final = (recipe.warmStart?.steps ?? 0) + recipe.train.steps;
  const evaluated = sum(evaluations.map((row) => row.sampledTokens));
  return {
    schema_version: schemaVersion,
    recipe: recipe.name,
    seed: recipe.seed,
    engine,
    steps: { warmStart: recipe.warmStart?.steps ?? 0, reinforcement: recipe.train.steps },
    policies: resultsOf(policies, run, last, metrics),
    table: evaluations.filter(
      ({ moment, step }) => moment === "before" || (moment === "after" && step === final),
    ),
    ...lossesOf(metrics, evaluations),
    ...flatRolesOf(metrics),
    ...summedCounts([...metrics, ...evaluations].map(({ services }) => services)),
    tokens: {
      sampled: sampledInTraining + evaluated,
      sampledInTraining,
      trained: sum(metrics.flatMap(trainedTokens)),
    },
    seconds: secondsOf(await run.timings()),
  };
}

function resultsOf(
  policies: OpenPolicies,
  run: Run,
  last: Checkpoint | null,
  metrics: readonly StepMetrics[],
): RunResult["policies"] {
  const results = Object.entries(policies).map(([name, { info, model }]) => {
    const saved = last?.state.policies[name];
    const directory = placeOf(
      run,
      last === null || saved === undefined ? model : { saved, folder: last.directory },
    );
    const { parameters, trainableParameters } = info;
    const optimizerSteps = sum(metrics.map((step) => step.policies[name]?.optimizerSteps ?? 0));
    return [name, { parameters, trainableParameters, optimizerSteps, directory }] as const;
  });
  return Object.fromEntries(results);
}

type Losses = Pick<RunResult, "failedEpisodes" | "unrewardedActions" | "unjudgedActions">;

/** Only if there are any: services seldom fail. */
function lossesOf(metrics: readonly StepMetrics[], evaluations: readonly Evaluation[]): Losses {
  const inTraining = (key: "failed" | "unrewarded" | "unjudged") =>
    sum(metrics.map(({ rollout }) => rollout?.[key] ?? 0));
  const inEvaluations = (key: "failed" | "unjudged") => sum(evaluations.map((row) => row[key] ?? 0));
  const losses: Losses = {
    failedEpisodes: inTraining("failed") + inEvaluations("failed"),
    unrewardedActions: inTraining("unrewarded"),
    unjudgedActions: inTraining("unjudged") + inEvaluations("unjudged"),
  };
  return Object.fromEntries(Object.entries(losses).filter(([, count]) => count !== 0));
}

function flatRolesOf(metrics: readonly StepMetrics[]): Pick<RunResult, "flatRoles"> {
  const long = Object.entries(flatStreaks(metrics)).filter(([, steps]) => steps >= patience);
  return long.length === 0 ? {} : { flatRoles: Object.fromEntries(long) };
}

function trainedTokens(metrics: StepMetrics): number[] {
  return Object.values(metrics.policies).map(({ tokens }) => tokens);
}

/** Time of killed processes after their last checkpoint is not recorded and does not count. */
function secondsOf(timings: readonly Timing[]): RunResult["seconds"] {
  const of = (what: Timing["what"]) =>
    sum(timings.filter((timing) => timing.what === what).map(({ seconds }) => seconds));
  const [warmStart, reinforcement, evaluation] = [of("warm-start"), of("reinforcement"), of("evaluation")];
  return { warmStart, reinforcement, evaluation, total: warmStart + reinforcement + evaluation };
}

/**
 * The directory of a model, or of saved weights; for those kept elsewhere, the engine's name for them. A folder in the
 * run is relative to the run, so that the run can be moved.
 */
function placeOf(run: Run, model: PolicyOptions["model"]): string {
  const directory = typeof model === "string" ? model : savedDirectory(model);
  if (directory === null) return (model as StoredPolicy).saved.location;

  const inside = path.relative(run.layout.directory, directory);
  return inside.startsWith("..") || path.isAbsolute(inside) ? directory : inside;
}
