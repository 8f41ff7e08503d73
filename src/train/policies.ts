/** The policies of a recipe in an engine: created, checked against what they will read and write, saved, restored. */
import fs from "node:fs/promises";
import path from "node:path";
import type { Engine, PolicyInfo, PolicyOptions, SavedPolicy, StoredPolicy } from "../engines/engine.ts";
import { savedDirectory } from "../engines/kind.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { holdsText, textDirectory } from "../models/adapter-base.ts";
import type { AdapterOptions } from "../models/adapter-options.ts";
import { initModel } from "../models/init.ts";
import { isPresent } from "../present.ts";
import { keyAt, rootKey, seedOf } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import { damagedCheckpoint } from "../runs/checkpoints.ts";
import { temporaryPrefix, writing } from "../runs/durable.ts";
import type { Role } from "../teams/team.ts";
import { withoutTemplate } from "../text/chat-template.ts";
import { loadTokenizer, unknownWords, type Tokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";

export interface OpenPolicy extends RolloutPolicy {
  readonly info: PolicyInfo;
  /** What it was made from. */
  readonly model: PolicyOptions["model"];
}

export type OpenPolicies = Readonly<Record<string, OpenPolicy>>;

type PolicyRecipe = Recipe["policies"][string];

/**
 * Creates every policy of the recipe in the engine, untrained or from its directory. Presets are created once, in
 * `models`, so that adapters of one preset share a base.
 * @param replaced other models of some policies: those that the warm start made
 */
export async function openPolicies(
  engine: Engine,
  recipe: Recipe,
  environment: Environment,
  models: string,
  replaced: ReadonlyMap<string, StoredPolicy> = new Map(),
): Promise<OpenPolicies> {
  const opened: Record<string, OpenPolicy> = {};
  const asked = new Set(rolesByTeam(recipe).flatMap((roles) => roles.map(({ policy }) => policy)));
  for (const [name, policy] of Object.entries(recipe.policies)) {
    const stored = replaced.get(name);
    const saved = stored === undefined ? null : savedDirectory(stored);
    const directory =
      saved !== null && holdsText(saved)
        ? saved
        : await modelDirectory(policy.model, recipe, environment, models);
    const model = stored ?? directory;
    const tokenizer = loadTokenizer(textDirectory(directory), policy.templateVariables);
    // Before the weights are read, which takes half a minute for a large model.
    if (asked.has(name) && !tokenizer.hasTemplate) throw withoutTemplate(textDirectory(directory));
    const info = await engine.createPolicy({ name, model, ...adapterOf(name, policy, recipe.seed) });
    checkWords(environment, tokenizer, {
      model: directory,
      vocabularySize: info.vocabularySize,
      advice: otherModel,
    });
    opened[name] = { tokenizer, maxLength: info.maxLength, info, model };
  }
  return opened;
}

/** Of the trained team, then of each compared team. */
export function rolesByTeam({ team, evaluation }: Recipe) {
  const teams = [team, ...Object.values(evaluation.compare)];
  return teams.map(({ roles }) => Object.values(roles));
}

const otherModel =
  "Use a model whose vocabulary has them, such as a byte-level one, or a preset, which is made for the environment.";

/**
 * Restores policies and optimizers from a checkpoint.
 * @throws TroupeError `bad_run` if what the engine saved is missing or damaged
 */
export async function restorePolicies(
  engine: Engine,
  checkpoint: string,
  policies: Readonly<Record<string, SavedPolicy>>,
): Promise<void> {
  for (const [name, saved] of Object.entries(policies)) {
    await engine.restore(name, { saved, folder: checkpoint }).catch(async (cause: unknown) => {
      if (!(cause instanceof TroupeError) || cause.code !== "bad_model") throw cause;
      throw await damagedCheckpoint(checkpoint, `${name} cannot be restored (${cause.message})`, cause);
    });
  }
}

/** Saves each policy in the folder, those in `learning` with their optimizer. */
export async function savePolicies(
  engine: Engine,
  folder: string,
  names: Iterable<string>,
  learning: ReadonlySet<string>,
): Promise<Record<string, SavedPolicy>> {
  const saved: Record<string, SavedPolicy> = {};
  for (const name of names) {
    const place = { folder, name };
    saved[name] = await (learning.has(name) ? engine.checkpoint(name, place) : engine.snapshot(name, place));
  }
  return saved;
}

/** The directory of a policy's model, or of the adapter it continues; a preset is created in `models` if necessary. */
export async function modelDirectory(
  model: PolicyRecipe["model"],
  recipe: Recipe,
  environment: Environment,
  models: string,
): Promise<string> {
  if ("path" in model) return path.resolve(model.path);
  const directory = path.join(models, model.preset);
  if (await isPresent(directory)) return directory;
  const tokenizer = path.join(models, `${temporaryPrefix}tokenizer`);
  const words = presetWords(model.preset, environment);
  await writing(tokenizer, async () => writeWordTokenizer(tokenizer, words));
  const seed = seedOf(keyAt(rootKey(recipe.seed), "model", model.preset));
  await initModel({ directory, preset: model.preset, tokenizer, seed });
  await writing(tokenizer, () => fs.rm(tokenizer, { recursive: true }));
  return directory;
}

/** A preset needs an environment with a closed list of words. */
function presetWords(preset: string, { name, oracle }: Environment): readonly string[] {
  if (oracle?.words !== undefined) return oracle.words;
  const fix = "use a model directory with its own tokenizer: `model: { path: … }`";
  throw new TroupeError(
    "bad_recipe",
    `the preset ${preset} needs the environment's word list, but ${name} has none; ${fix}`,
  );
}

function adapterOf(name: string, { adapter }: PolicyRecipe, seed: number): { adapter?: AdapterOptions } {
  if (adapter === undefined) return {};
  return { adapter: { ...adapter, seed: seedOf(keyAt(rootKey(seed), "adapter", name)) } };
}

/**
 * Checks, before sampling or training, that a model can read its environment and answer it.
 * @param model for messages: a run's policy or a directory
 * @param vocabularySize the model's; words must not need token ids beyond it
 * @param advice what to do
 * @throws TroupeError `bad_arguments`
 */
export function checkWords(
  { name, oracle }: Pick<Environment, "name" | "oracle">,
  tokenizer: Tokenizer,
  { model, vocabularySize, advice }: { model: string; vocabularySize?: number; advice: string },
): void {
  const words = oracle?.words ?? [];
  const unknown = unknownWords(tokenizer, words);
  if (unknown.length > 0) {
    const problem = `the tokenizer of ${model} lacks ${count(unknown, words, name)}`;
    throw new TroupeError("bad_arguments", `${problem}. ${advice}`);
  }
  const limit = vocabularySize ?? Infinity;
  const beyond = words.filter((word) => tokenizer.encode(word).some((id) => id >= limit));
  if (beyond.length === 0) return;
  const problem = `${model} has weights for ${limit} tokens, but its tokenizer assigns larger ids to`;
  throw new TroupeError(
    "bad_arguments",
    `${problem} ${count(beyond, words, name)}. Use the tokenizer that belongs to the model.`,
  );
}

/** `3 of the 40 words of plan-path: a5 b5 c5` */
function count(some: readonly string[], words: readonly string[], environment: string): string {
  const shown = some.slice(0, 6).join(" ") + (some.length > 6 ? " …" : "");
  return `${some.length} of the ${words.length} words of ${environment}: ${shown}`;
}

/** Whether the models of roles with tools can call them. @throws TroupeError `bad_recipe` */
export function checkTools(
  roles: readonly Role[],
  policies: Readonly<Record<string, Pick<RolloutPolicy, "tokenizer">>>,
): void {
  const unable = roles.find(
    ({ tools, policy }) => tools !== undefined && policies[policy]?.tokenizer.writesCalls() === false,
  );
  if (unable === undefined) return;
  throw new TroupeError(
    "bad_recipe",
    `the role ${unable.name} has tools, but the chat template of its policy ${unable.policy} shows none, or its calls are ` +
      "in no known format (those of Hermes and Qwen, Llama 3, Mistral); use a model with tools, or remove `tools`",
  );
}
