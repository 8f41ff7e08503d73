/** Finds weights: those of a run's policy, trained or not, or those of a directory. Nothing is loaded here. */
import fs from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import type { PolicyOptions, StoredPolicy } from "../engines/engine.ts";
import { savedDirectory } from "../engines/saved.ts";
import { baseOf, holdsText, textDirectory } from "../models/adapter-base.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { environmentOf } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { recipeSchema } from "../recipes/schema.ts";
import { latestCheckpoint, readCheckpoint } from "../runs/checkpoints.ts";
import type { Checkpoint } from "../runs/checkpoints.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRecipeText } from "../runs/read.ts";
import { basesOf } from "./bases.ts";
import { modelDirectory } from "./policies.ts";
import { trainedPolicies } from "./teams.ts";

/** What a policy is made from. */
export interface Weights {
  /** For people: `plan-path:planner`, or the directory. */
  readonly label: string;
  /** For people: the directory they are in, or what the engine that keeps them calls them. */
  readonly place: string;
  readonly model: PolicyOptions["model"];
  /** The policy's weights, where they are not those of its model. */
  readonly from: StoredPolicy | null;
  /** The directory with its tokenizer. */
  readonly text: string;
  /** The run's step after which they were saved; null: as the policy began, or no run. */
  readonly step: number | null;
  /** The environment of the run, with its options; null: no run. */
  readonly environment: Recipe["environment"] | null;
}

/** A run as far as its policies are concerned, finished or not. */
export interface SavedRun {
  readonly directory: string;
  readonly name: string;
  readonly recipe: Recipe;
  readonly checkpoint: Checkpoint | null;
}

/**
 * @param checkpoint one of the run's checkpoints; default: the newest
 * @throws TroupeError `bad_run` where the folder or the checkpoint is damaged
 */
export async function openSavedRun(directory: string, checkpoint?: string): Promise<SavedRun> {
  const recipe = recipeSchema.safeParse(parsed(await readRecipeText(directory)));
  if (!recipe.success) {
    const file = layoutOf(directory).recipe;
    const [issue] = recipe.error.issues;
    const problem = `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "unexpected"}`;
    throw new TroupeError("bad_run", `${file} is not in this Troupe's format (${problem})`);
  }
  const found = await (checkpoint === undefined
    ? latestCheckpoint(layoutOf(directory).checkpoints)
    : readCheckpoint(checkpoint));
  return { directory, name: path.basename(directory), recipe: recipe.data, checkpoint: found };
}

function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The policy that a name means: that of the team's role of this name, or else the policy itself.
 * @throws TroupeError `bad_arguments`: neither, or a role and a policy that are not the same
 */
export function policyNamed({ name: run, recipe }: SavedRun, name: string): string {
  const { roles } = recipe.team;
  const played = Object.hasOwn(roles, name) ? roles[name]?.policy : undefined;
  const isPolicy = Object.hasOwn(recipe.policies, name);
  if (played !== undefined && isPolicy && played !== name) {
    const both = `in ${run}, the role ${name} uses the policy ${played}, but there is another policy ${name}`;
    throw new TroupeError("bad_arguments", `${both}; use the directory of one of them`);
  }
  if (played !== undefined || isPolicy) return played ?? name;
  const known = { roles: Object.keys(roles), policies: Object.keys(recipe.policies) };
  const hint =
    didYouMean(name, [...known.roles, ...known.policies]) ??
    `its roles are ${known.roles.join(", ")}, its policies ${known.policies.join(", ")}`;
  throw new TroupeError("bad_arguments", `${run} has no role and no policy ${name}; ${hint}`);
}

/**
 * Where the weights of a run's policy are: in the checkpoint, or, of one that is not trained, where it began.
 * @param scratch folder for an untrained model that the run's folder has lost; it is made again, the same
 * @throws TroupeError `bad_run` where there are none yet, or a folder is gone
 */
export async function weightsOfPolicy(run: SavedRun, policy: string, scratch: string): Promise<Weights> {
  const { name, recipe, checkpoint } = run;
  const model = await beginningOf(run, policy, scratch);
  const common = { label: `${name}:${policy}`, environment: recipe.environment, model };
  const saved = checkpoint?.state.policies[policy];
  if (checkpoint === null || saved === undefined)
    return { ...common, place: placeOf(model), from: null, text: textOf(model), step: null };
  const from = { saved, folder: checkpoint.directory };
  return { ...common, place: placeOf(from), from, text: textOf(from, model), step: checkpoint.state.step };
}

/** The model that a policy began from; with a warm start of bases the taught one. */
async function beginningOf(run: SavedRun, policy: string, scratch: string): Promise<PolicyOptions["model"]> {
  const { recipe, directory, checkpoint } = run;
  const base = basesOf(recipe).get(policy);
  if (checkpoint === null && (base !== undefined || trainedPolicies(recipe).has(policy))) {
    const fix = "continue training, or wait for one";
    throw new TroupeError("bad_run", `${directory} has no checkpoint of ${policy} yet; ${fix}`);
  }
  if (base !== undefined && checkpoint !== null) return taughtBase(run, base, checkpoint);
  const settings = recipe.policies[policy];
  if (settings === undefined) throw new TroupeError("internal", `${run.name} has no policy ${policy}`);
  return beginningModel(run, settings, scratch);
}

/** While the warm start lasts, a base is a policy of the checkpoint. */
function taughtBase(
  { directory }: SavedRun,
  base: string,
  { directory: folder, state }: Checkpoint,
): StoredPolicy {
  const taught = state.bases?.[base];
  if (taught !== undefined) return { saved: taught, folder: layoutOf(directory).models };
  const saved = state.policies[base];
  if (saved !== undefined) return { saved, folder };
  throw new TroupeError("bad_run", `${folder} does not contain the location of ${base} after the warm start`);
}

async function beginningModel(
  { directory, name, recipe }: SavedRun,
  { model }: Recipe["policies"][string],
  scratch: string,
): Promise<string> {
  if ("preset" in model) {
    const made = path.join(layoutOf(directory).models, model.preset);
    if (await exists(made)) return made;
    const environment = await environmentOf(layoutOf(directory).recipe);
    return modelDirectory(model, recipe, environment, path.join(scratch, name));
  }
  const place = path.resolve(model.path);
  if (await exists(place)) return place;
  const where = `${name} started from the model directory ${model.path}, which does not exist`;
  throw new TroupeError(
    "bad_run",
    `${where}; paths in recipes are relative to the working directory; run this where ${name} was trained`,
  );
}

/**
 * The weights of a model directory or of an adapter's; an adapter's base is where its adapter_config.json says.
 * @throws TroupeError `bad_model` where the base is not there
 */
export async function weightsOfDirectory(directory: string): Promise<Weights> {
  baseOf(directory);
  const common = { label: directory, place: directory, model: directory, text: textDirectory(directory) };
  return { ...common, from: null, step: null, environment: null };
}

function placeOf(model: PolicyOptions["model"]): string {
  return typeof model === "string" ? model : (savedDirectory(model) ?? model.saved.location);
}

/** The tokenizer was saved with the weights, or else is that of the model they began from. */
function textOf(...models: readonly PolicyOptions["model"][]): string {
  const directories = models.flatMap((model) =>
    typeof model === "string" ? model : (savedDirectory(model) ?? []),
  );
  const [first = ""] = directories;
  return directories.find(holdsText) ?? textDirectory(first);
}

async function exists(place: string): Promise<boolean> {
  return (await fs.stat(place).catch(() => null)) !== null;
}
