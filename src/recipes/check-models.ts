/** Whether the models that a recipe's policies begin from are there. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Catalog } from "./catalog.ts";
import type { Refusal } from "./check.ts";
import { hintAt } from "./mistakes.ts";
import type { Recipe } from "./schema.ts";
import type { Path } from "./tree.ts";

type Model = Recipe["policies"][string]["model"];

export function checkModel(path: Path, model: Model, { presets }: Catalog): readonly Refusal[] {
  if ("path" in model) return checkDirectory([...path, "path"], model.path);
  if (presets.includes(model.preset)) return [];
  const fix = `${hintAt(model.preset, presets)}Presets: ${presets.join(", ")}`;
  return [{ path: [...path, "preset"], problem: `there is no preset \`${model.preset}\``, fix }];
}

function checkDirectory(path: Path, directory: string): readonly Refusal[] {
  const missing = ["config.json", "tokenizer.json"].find((file) => !existsSync(join(directory, file)));
  if (missing === undefined) return [];
  const refusal = (problem: string, fix: string) => [{ path, problem, fix }];
  if (existsSync(join(directory, "adapter_config.json"))) {
    const fix = `give the model below it${baseOf(directory)}, and the policy an \`adapter\` of its own`;
    return refusal(`${directory} holds an adapter, and a policy begins from a whole model`, fix);
  }
  const inside = modelBelow(directory);
  if (inside !== undefined) return refusal(`no ${missing} in ${directory}`, `a model in it is ${inside}`);
  const what = existsSync(directory)
    ? `no ${missing} in ${directory}`
    : `${directory} does not exist, seen from ${process.cwd()}`;
  return refusal(what, "give a model directory in the Hugging Face layout, or make one with `troupe init`");
}

function baseOf(directory: string): string {
  try {
    const text = readFileSync(join(directory, "adapter_config.json"), "utf8");
    const base = (JSON.parse(text) as { base_model_name_or_path?: unknown }).base_model_name_or_path;
    return typeof base === "string" ? ` (${base})` : "";
  } catch {
    return "";
  }
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
    return readFileSync(join(model.path, "tokenizer.json"), "utf8");
  } catch {
    return "preset";
  }
}
