/**
 * Weights for playing, not for training: of a run's policy, trained or not, or of a directory. They are found first,
 * without loading anything; then a team is opened whose roles use weights from one or several runs.
 */
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Engine, PolicyOptions, StoredPolicy } from "../engines/engine.ts";
import { savedDirectory } from "../engines/kind.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { baseOf, holdsText, textDirectory } from "../models/adapter-base.ts";
import { checkModel } from "../models/model-digests.ts";
import { didYouMean } from "../nearest.ts";
import { isPresent } from "../present.ts";
import { optionsOf } from "../recipes/choice.ts";
import { projectOf } from "../recipes/places.ts";
import { environmentOf } from "../recipes/resolve.ts";
import { recipeSchema, type Recipe } from "../recipes/schema.ts";
import { latestCheckpoint, readCheckpoint, type Checkpoint } from "../runs/checkpoints.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRecipe } from "../runs/read.ts";
import type { Team } from "../teams/team.ts";
import type { JsonObject } from "../text/files.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { checkTools, checkWords, modelDirectory, type OpenPolicies, type OpenPolicy } from "./policies.ts";
import { basesOf, checkBase, storedBase, trainedPolicies } from "./teams.ts";

/** What a policy is made from. */
export interface Weights {
  /** For people: `plan-path:planner`, or the directory. */
  readonly label: string;
  /** For people: their directory, or the engine's name for them. */
  readonly place: string;
  readonly model: PolicyOptions["model"];
  /** The policy's weights, if they differ from its model's. */
  readonly from: StoredPolicy | null;
  /** The directory with its tokenizer. */
  readonly text: string;
  /** Passed to its chat template. */
  readonly templateVariables: JsonObject;
  /** The run's step after which they were saved; null: untrained, or not from a run. */
  readonly step: number | null;
  /** The environment of the run, with its options; null: not from a run. */
  readonly environment: Recipe["environment"] | null;
}

/** A run's policies, finished or not. */
export interface SavedRun {
  readonly directory: string;
  readonly name: string;
  readonly recipe: Recipe;
  readonly checkpoint: Checkpoint | null;
}

/**
 * @param checkpoint one of the run's checkpoints; default: the newest
 * @throws TroupeError `bad_run` if the folder or the checkpoint is damaged
 */
export async function openSavedRun(directory: string, checkpoint?: string): Promise<SavedRun> {
  const recipe = recipeSchema.safeParse(await readRecipe(directory));
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

/**
 * The policy that a name means: that of the team's role with this name, or else the policy with this name.
 * @throws TroupeError `bad_arguments` if there is neither, or a role and a different policy
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
 * Where the weights of a run's policy are: in the checkpoint, or for an untrained policy where it started.
 * @param scratch folder for an untrained model that is missing in the run's folder; it is created again identically
 * @throws TroupeError `bad_run` if there are none yet, or a folder is missing
 */
export async function weightsOfPolicy(run: SavedRun, policy: string, scratch: string): Promise<Weights> {
  const { name, recipe, checkpoint } = run;
  const model = await beginningOf(run, policy, scratch);
  const { templateVariables = {} } = recipe.policies[policy] ?? {};
  /** A server that keeps the weights keeps no tokenizer for us: it is that of the recipe's model. */
  const textIn = async (models: readonly PolicyOptions["model"][]) =>
    textOf(models) ?? textDirectory(await modelOf(run, policy, scratch));
  const common = { label: `${name}:${policy}`, environment: recipe.environment, model, templateVariables };
  const saved = checkpoint?.state.policies[policy];
  if (checkpoint === null || saved === undefined)
    return { ...common, place: placeOf(model), from: null, text: await textIn([model]), step: null };
  const from = { saved, folder: checkpoint.directory };
  const text = await textIn([from, model]);
  return { ...common, place: placeOf(from), from, text, step: checkpoint.state.step };
}

/** The model that a policy started from; with a warm start of bases, the trained base. */
async function beginningOf(run: SavedRun, policy: string, scratch: string): Promise<PolicyOptions["model"]> {
  const { recipe, directory, checkpoint } = run;
  const base = basesOf(recipe).get(policy);
  if (checkpoint === null && (base !== undefined || trainedPolicies(recipe).has(policy))) {
    const fix = "continue training, or wait for one";
    throw new TroupeError("bad_run", `${directory} has no checkpoint of ${policy} yet; ${fix}`);
  }
  if (base !== undefined && checkpoint !== null) return trainedBase(run, base, checkpoint);
  return modelOf(run, policy, scratch);
}

/** During the warm start, a base is a policy of the checkpoint. */
async function trainedBase(
  { directory }: SavedRun,
  base: string,
  { directory: folder, state }: Checkpoint,
): Promise<StoredPolicy> {
  const ended = state.bases?.[base];
  if (ended !== undefined) {
    const { models } = layoutOf(directory);
    await checkBase(ended, models);
    return storedBase(ended, models);
  }
  const saved = state.policies[base];
  if (saved !== undefined) return { saved, folder };
  throw new TroupeError("bad_run", `${folder} does not contain the location of ${base} after the warm start`);
}

/** The directory of the model that the recipe names. */
async function modelOf(
  { directory, name, recipe }: SavedRun,
  policy: string,
  scratch: string,
): Promise<string> {
  const settings = recipe.policies[policy];
  if (settings === undefined) throw new TroupeError("internal", `${name} has no policy ${policy}`);
  const { model } = settings;
  if ("preset" in model) {
    const made = path.join(layoutOf(directory).models, model.preset);
    if (await isPresent(made)) return made;
    const environment = await environmentOf(layoutOf(directory).recipe);
    return modelDirectory(model, recipe, environment, path.join(scratch, name));
  }
  const place = path.resolve(projectOf(directory, model.path), model.path);
  if (await isPresent(place)) {
    await checkModel(directory, policy, place);
    return place;
  }
  const where = `${name} started from the model directory ${model.path}, which does not exist`;
  throw new TroupeError(
    "bad_run",
    `${where}; the run keeps its path as seen from there; run this where ${name} was trained`,
  );
}

/**
 * The weights of a model directory or of an adapter's; an adapter's base is named in its adapter_config.json.
 * @throws TroupeError `bad_model` if the base is missing
 */
export async function weightsOfDirectory(directory: string): Promise<Weights> {
  baseOf(directory);
  const common = { label: directory, place: directory, model: directory, text: textDirectory(directory) };
  return { ...common, from: null, step: null, environment: null, templateVariables: {} };
}

function placeOf(model: PolicyOptions["model"]): string {
  return typeof model === "string" ? model : (savedDirectory(model) ?? model.saved.location);
}

/**
 * The tokenizer was saved with the weights, or else belongs to the model they started from. Undefined: none of these is
 * on this machine.
 */
function textOf(models: readonly PolicyOptions["model"][]): string | undefined {
  const directories = models.flatMap((model) =>
    typeof model === "string" ? model : (savedDirectory(model) ?? []),
  );
  const [first] = directories;
  return directories.find(holdsText) ?? (first === undefined ? undefined : textDirectory(first));
}

/** The weights of each role. */
export type RoleWeights = Readonly<Record<string, Weights>>;

export interface OpenTeam {
  /** The given team, with the policies below. */
  readonly team: Team;
  readonly policies: OpenPolicies;
}

/**
 * Loads each role's weights. Weights shared by roles are loaded once, and adapters share a base.
 * @throws TroupeError `bad_arguments` if a model does not know the environment's words
 */
export async function openTeam(
  engine: Engine,
  environment: Environment,
  team: Team,
  weights: RoleWeights,
): Promise<OpenTeam> {
  const policies: Record<string, OpenPolicy> = {};
  const names = new Map<string, string>();
  const roles: Team["roles"][number][] = [];
  for (const role of team.roles) {
    const own = weights[role.name];
    if (own === undefined)
      throw new TroupeError("internal", `there are no weights for the role ${role.name}`);
    const place = await realpath(own.place).catch(() => own.place);
    const name = names.get(place) ?? freeName(own.label, policies);
    policies[name] ??= await openPolicy(engine, environment, name, own);
    names.set(place, name);
    roles.push({ ...role, policy: name });
  }
  checkTools(roles, policies);
  return { team: { ...team, roles }, policies };
}

async function openPolicy(
  engine: Engine,
  environment: Environment,
  name: string,
  weights: Weights,
): Promise<OpenPolicy> {
  const { model, from, text, label, templateVariables } = weights;
  const tokenizer = loadTokenizer(text, templateVariables);
  checkWords(environment, tokenizer, { model: label, advice: adviceFor(weights) });
  const info = await engine.createPolicy({ name, model, ...(from === null ? {} : { from }) });
  return { tokenizer, maxLength: info.maxLength, info, model };
}

function adviceFor({ environment: own }: Weights): string {
  const origin = own === null ? "" : `It was trained on ${describe(own)}. `;
  return `${origin}Use weights trained on the same environment and options, or evaluate in their own recipe.`;
}

function describe(environment: NonNullable<Weights["environment"]>): string {
  const { name, module } = environment;
  const plain = Object.entries(optionsOf(environment)).filter(([, value]) => typeof value !== "object");
  return [name ?? module, ...plain.map(([key, value]) => `${key}=${String(value)}`)].join(" ");
}

function freeName(label: string, taken: Readonly<Record<string, unknown>>): string {
  let name = label;
  for (let number = 2; Object.hasOwn(taken, name); number++) name = `${label} (${number})`;
  return name;
}
