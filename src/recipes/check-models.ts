/** Whether the models, and the adapters, that a recipe's policies begin from are there and fit. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { baseOf, holdsAdapter, textDirectory } from "../models/adapter-base.ts";
import { checkAdapterConfig, readAdapterOptions } from "../models/adapter-directory.ts";
import { TroupeError } from "../errors.ts";
import type { Catalog } from "./catalog.ts";
import type { Refusal } from "./check.ts";
import { hintAt } from "./mistakes.ts";
import type { Recipe } from "./schema.ts";
import type { Path } from "./tree.ts";

type Policy = Recipe["policies"][string];
type Model = Policy["model"];

/** A policy that begins from an adapter's directory is an adapter like it, where the recipe says nothing of its own. */
export function withAdapters(policies: Recipe["policies"]): Recipe["policies"] {
  const settled = Object.entries(policies).map(([name, policy]) => {
    const adapter = policy.adapter ?? storedAdapter(policy.model);
    return [name, adapter === undefined ? policy : { ...policy, adapter }];
  });
  return Object.fromEntries(settled) as Recipe["policies"];
}

/** Undefined: there is none, or none that can be read, which `checkModel` tells. */
function storedAdapter(model: Model): Policy["adapter"] {
  if (!("path" in model) || !holdsAdapter(model.path)) return undefined;
  try {
    const { seed: _, ...adapter } = readAdapterOptions(model.path);
    return {
      ...adapter,
      targetModules: adapter.targetModules as NonNullable<Policy["adapter"]>["targetModules"],
    };
  } catch {
    return undefined;
  }
}

/** The base must be there, and the settings those of the recipe. */
function checkAdapter(path: Path, directory: string, wanted: Policy["adapter"]): readonly Refusal[] {
  try {
    checkAdapterConfig(directory, wanted ?? readAdapterOptions(directory), false);
    return checkDirectory(path, baseOf(directory), textDirectory(directory));
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    const problem = error.message.replace(/\.$/, "");
    const fix = "a policy goes on with an adapter as it is; leave `adapter` out to take its settings";
    return [{ path, problem, ...(wanted === undefined ? {} : { fix }) }];
  }
}

/** @param path of the policy in the recipe */
export function checkModel(path: Path, policy: Policy, { presets }: Catalog): readonly Refusal[] {
  const { model, adapter } = policy;
  if ("path" in model) {
    const place = [...path, "model", "path"];
    return holdsAdapter(model.path)
      ? checkAdapter(place, model.path, adapter)
      : checkDirectory(place, model.path);
  }
  if (presets.includes(model.preset)) return [];
  const fix = `${hintAt(model.preset, presets)}Presets: ${presets.join(", ")}`;
  return [{ path: [...path, "model", "preset"], problem: `there is no preset \`${model.preset}\``, fix }];
}

/** @param texts where the tokenizer is */
function checkDirectory(path: Path, directory: string, texts: string = directory): readonly Refusal[] {
  const files = [join(directory, "config.json"), join(texts, "tokenizer.json")];
  const missing = files.filter((file) => !existsSync(file)).map((file) => basename(file))[0];
  if (missing === undefined) return [];
  const refusal = (problem: string, fix: string) => [{ path, problem, fix }];
  const inside = modelBelow(directory);
  if (inside !== undefined) return refusal(`no ${missing} in ${directory}`, `a model in it is ${inside}`);
  const what = existsSync(directory)
    ? `no ${missing} in ${directory}`
    : `${directory} does not exist, seen from ${process.cwd()}`;
  return refusal(what, "give a model directory in the Hugging Face layout, or make one with `troupe init`");
}

/** Of a run or a checkpoint, what was probably meant: a policy's directory, of the newest checkpoint. */
function modelBelow(directory: string): string | undefined {
  const patterns = ["*/config.json", "checkpoints/step-*/*/config.json"];
  const found = patterns.flatMap((pattern) => globSync(pattern, { cwd: directory })).map(dirname);
  const models = found.filter((model) => !/^critic($|-)/.test(basename(model)));
  const [newest] = models.toSorted((a, b) => stepOf(b) - stepOf(a) || a.localeCompare(b));
  return newest === undefined ? undefined : join(directory, newest);
}

function stepOf(model: string): number {
  return Number(/step-(\d+)/.exec(model)?.[1] ?? 0);
}

/** What token ids mean to a model; presets of one run are made with one vocabulary. */
export function vocabularyOf(model: Model): string {
  if ("preset" in model) return "preset";
  try {
    return readFileSync(join(textDirectory(model.path), "tokenizer.json"), "utf8");
  } catch {
    return "preset";
  }
}
