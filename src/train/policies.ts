/** The policies of a recipe in an engine: made, brought back from a checkpoint, saved. */
import fs from "node:fs/promises";
import path from "node:path";
import type { Engine, PolicyInfo } from "../engines/engine.ts";
import type { AdapterOptions } from "../models/adapter-options.ts";
import { checkWords } from "./check-words.ts";
import { textDirectory } from "../models/adapter-base.ts";
import { initModel } from "../models/init.ts";
import { TroupeError } from "../errors.ts";
import type { Environment } from "../environments/environment.ts";
import { keyAt, rootKey, seedOf } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import { temporaryPrefix } from "../runs/durable.ts";
import type { CheckpointState } from "../runs/records.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";

export interface OpenPolicy extends RolloutPolicy {
  readonly info: PolicyInfo;
  /** The directory it began from, a model's or an adapter's. */
  readonly source: string;
}

export type OpenPolicies = Readonly<Record<string, OpenPolicy>>;

type PolicyRecipe = Recipe["policies"][string];

/**
 * Makes every policy of the recipe in the engine, untrained or as its directory has it. Presets are made once, in
 * `models`, so that adapters of one preset share a base.
 */
export async function openPolicies(
  engine: Engine,
  recipe: Recipe,
  environment: Environment,
  models: string,
): Promise<OpenPolicies> {
  const opened: Record<string, OpenPolicy> = {};
  for (const [name, policy] of Object.entries(recipe.policies)) {
    const source = await modelDirectory(policy.model, recipe, environment, models);
    const tokenizer = loadTokenizer(textDirectory(source));
    const info = await engine.createPolicy({ name, model: source, ...adapterOf(name, policy, recipe.seed) });
    checkWords(environment, tokenizer, {
      model: source,
      vocabularySize: info.vocabularySize,
      advice: otherModel,
    });
    opened[name] = { tokenizer, maxLength: info.maxLength, info, source };
  }
  return opened;
}

const otherModel =
  "Take a model whose vocabulary has them, such as one with a token for every byte, or a preset, which is made for the environment.";

/** Brings policies and optimizers back to a checkpoint. */
export async function restorePolicies(
  engine: Engine,
  directory: string,
  policies: CheckpointState["policies"],
): Promise<void> {
  for (const [name, { model, optimizer }] of Object.entries(policies)) {
    await engine.load(name, path.join(directory, model));
    if (optimizer !== null) await engine.loadOptimizer(name, path.join(directory, optimizer));
  }
}

/** Names of the files of a checkpoint. Only policies that are `learning` have an optimizer in it. */
export function checkpointFiles(
  names: Iterable<string>,
  learning: ReadonlySet<string>,
): CheckpointState["policies"] {
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      { model: name, optimizer: learning.has(name) ? `${name}.optimizer` : null },
    ]),
  );
}

/** Writes each policy as a model directory that can be used by itself, and its optimizer. */
export async function savePolicies(
  engine: Engine,
  directory: string,
  files: CheckpointState["policies"],
  opened: OpenPolicies,
): Promise<void> {
  for (const [name, { model, optimizer }] of Object.entries(files)) {
    await savePolicy(engine, name, path.join(directory, model), opened[name]?.source);
    if (optimizer !== null) await engine.saveOptimizer(name, path.join(directory, optimizer));
  }
}

/** @param source the directory it began from, whose tokenizer and template go with the weights */
export async function savePolicy(
  engine: Engine,
  name: string,
  target: string,
  source: string | undefined,
): Promise<void> {
  await engine.save(name, target);
  if (source !== undefined) await copyTextFiles(textDirectory(source), target);
}

/** The directory of a policy's model, or of the adapter it goes on with; a preset's is made in `models` where it is not there yet. */
export async function modelDirectory(
  model: PolicyRecipe["model"],
  recipe: Recipe,
  environment: Environment,
  models: string,
): Promise<string> {
  if ("path" in model) return path.resolve(model.path);
  const directory = path.join(models, model.preset);
  if ((await fs.stat(directory).catch(() => null)) !== null) return directory;
  const tokenizer = path.join(models, `${temporaryPrefix}tokenizer`);
  writeWordTokenizer(tokenizer, presetWords(model.preset, environment));
  const seed = seedOf(keyAt(rootKey(recipe.seed), "model", model.preset));
  await initModel({ directory, preset: model.preset, tokenizer, seed });
  await fs.rm(tokenizer, { recursive: true });
  return directory;
}

/** A preset is made for an environment with a closed list of words. */
function presetWords(preset: string, { name, oracle }: Environment): readonly string[] {
  if (oracle?.words !== undefined) return oracle.words;
  const fix = "give a model directory with a tokenizer of its own: `model: { path: … }`";
  throw new TroupeError(
    "bad_recipe",
    `the preset ${preset} is made of an environment's words, and ${name} has none; ${fix}`,
  );
}

function adapterOf(name: string, { adapter }: PolicyRecipe, seed: number): { adapter?: AdapterOptions } {
  if (adapter === undefined) return {};
  return { adapter: { ...adapter, seed: seedOf(keyAt(rootKey(seed), "adapter", name)) } };
}

const textFiles = [
  "tokenizer.json",
  "tokenizer_config.json",
  "chat_template.jinja",
  "generation_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
];

/** Tokenizer and template go with the weights; an engine that wrote them already is not overruled. */
async function copyTextFiles(source: string, target: string): Promise<void> {
  for (const name of textFiles) {
    const [from, to] = [path.join(source, name), path.join(target, name)];
    const copied = await fs.copyFile(from, to, fs.constants.COPYFILE_EXCL).catch((error: unknown) => error);
    const code = (copied as NodeJS.ErrnoException | undefined)?.code;
    if (code !== undefined && code !== "ENOENT" && code !== "EEXIST") throw copied;
  }
}
