/** The teams and policies of a run or of a model directory, loaded to play and not to train. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { openEngine } from "../recipes/engine.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { latestCheckpoint } from "../runs/checkpoints.ts";
import type { Checkpoint } from "../runs/checkpoints.ts";
import { layoutOf } from "../runs/layout.ts";
import type { OpenPolicies } from "../train/policies.ts";
import { openPolicies, restorePolicies } from "../train/policies.ts";
import { findRun } from "./runs.ts";

export interface TrainedTeam {
  readonly resolved: ResolvedRecipe;
  readonly engine: Engine;
  readonly policies: OpenPolicies;
  /** Where the weights are from, for people. */
  readonly origin: string;
}

export interface Source {
  readonly resolved: ResolvedRecipe;
  /** The run's newest checkpoint; null: weights as the recipe's policies begin. */
  readonly checkpoint: Checkpoint | null;
  readonly origin: string;
}

/** A run by name or folder, or a model directory with a recipe to play in. */
export async function findSource(given: string, runs: string, recipe: string | undefined): Promise<Source> {
  const isModel = existsSync(join(given, "config.json"));
  if (!isModel) return sourceOfRun(await findRun(given, runs), recipe);
  if (recipe === undefined) {
    const fix = "say with --recipe which recipe's team and environment it is for";
    throw new TroupeError("bad_arguments", `${given} is a model directory; ${fix}`);
  }
  const file = findRecipe(recipe);
  const overrides = policyNames(file).flatMap((name) => [
    `policies.${name}.adapter=null`,
    `policies.${name}.model={preset: null, path: ${JSON.stringify(given)}}`,
  ]);
  return { resolved: resolveRecipe(file, overrides), checkpoint: null, origin: given };
}

/** @param recipe another recipe to play the run's policies in, such as a larger board */
export async function sourceOfRun(directory: string, recipe?: string): Promise<Source> {
  const file = recipe === undefined ? join(directory, "recipe.yaml") : findRecipe(recipe);
  const resolved = resolveRecipe(file);
  const checkpoint = await latestCheckpoint(layoutOf(directory).checkpoints);
  if (checkpoint === null) throw new TroupeError("bad_run", `${directory} has no checkpoint yet`);
  return { resolved, checkpoint, origin: checkpoint.directory };
}

/** Loads the weights and lends the team to `use`. Untrained bases are made in a temporary folder. */
export async function withTrainedTeam<Value>(
  source: Source,
  use: (team: TrainedTeam) => Promise<Value>,
): Promise<Value> {
  const { resolved, checkpoint, origin } = source;
  const folder = await mkdtemp(join(tmpdir(), "troupe-models-"));
  const engine = openEngine(resolved.recipe.engine);
  try {
    const policies = await openPolicies(engine, resolved.recipe, resolved.environment, folder);
    if (checkpoint !== null) await restorePolicies(engine, checkpoint.directory, weightsOnly(checkpoint));
    return await use({ resolved, engine, policies, origin });
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Nothing is trained, so the optimizers stay on the disk. */
function weightsOnly({ state }: Checkpoint): Checkpoint["state"]["policies"] {
  const policies = Object.entries(state.policies);
  return Object.fromEntries(policies.map(([name, { model }]) => [name, { model, optimizer: null }]));
}

function policyNames(file: string): readonly string[] {
  const recipe = resolveRecipe(file).recipe;
  return Object.keys(recipe.policies);
}
