/** `troupe init PRESET`: a small untrained model with its tokenizer, in the Hugging Face layout. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { initModel } from "../models/init.ts";
import type { Preset } from "../models/presets.ts";
import { presets } from "../models/presets.ts";
import type { Environment } from "../environments/environment.ts";
import { createEnvironment, ofWords } from "../environments/registry.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { showCount } from "../format.ts";
import { wholeNumber } from "./numbers.ts";
import { printJson, printLines } from "./print.ts";
import { tableLines } from "./table.ts";

interface InitArguments {
  readonly environment: string;
  readonly recipe?: string;
  readonly seed: number;
  readonly json?: boolean;
}

export function initCommand(): Command {
  const known = ofWords.join(", ");
  return new Command("init")
    .description("create a small untrained model with its tokenizer, in the Hugging Face layout")
    .argument("[preset]", "its size; without: list the presets")
    .argument("[directory]", "output directory (default: models/PRESET)")
    .option("--environment <name>", `environment whose words the tokenizer has: ${known}`, "plan-path")
    .option("--recipe <recipe>", "recipe whose environment and options give the words")
    .option("--seed <number>", "random seed of the weights", wholeNumber(0), 1)
    .option("--json", "print one JSON document")
    .action(async (preset: string | undefined, directory: string | undefined, options: InitArguments) => {
      if (preset === undefined) return options.json ? printJson(presets) : printLines(presetTable());
      checkPreset(preset);
      const target = directory ?? join("models", preset);
      const { parameters } = await makeModel(preset, target, options);
      if (options.json) printJson({ directory: target, preset, parameters });
      else printLines([`${target}: ${showCount(parameters)} parameters, untrained`, ...useLines(target)]);
    });
}

function checkPreset(preset: string): void {
  if (Object.hasOwn(presets, preset)) return;
  const hint = didYouMean(preset, Object.keys(presets));
  const list = presetTable().join("\n");
  throw new TroupeError(
    "bad_arguments",
    `there is no preset ${preset}; ${hint ?? "the presets are"}\n\n${list}`,
  );
}

async function makeModel(
  preset: string,
  directory: string,
  options: InitArguments,
): Promise<{ parameters: number }> {
  const tokenizer = await mkdtemp(join(tmpdir(), "troupe-tokenizer-"));
  try {
    writeWordTokenizer(tokenizer, await wordsOf(options));
    return await initModel({ directory, preset, tokenizer, seed: options.seed });
  } finally {
    await rm(tokenizer, { recursive: true });
  }
}

async function wordsOf({ environment, recipe }: InitArguments): Promise<readonly string[]> {
  if (recipe !== undefined) return wordsIn((await resolveRecipe(findRecipe(recipe))).environment);
  return wordsIn(await createEnvironment(environment, {}));
}

function wordsIn({ name, oracle }: Environment): readonly string[] {
  if (oracle?.words !== undefined) return oracle.words;
  const fix = "use a pretrained model, whose tokenizer covers any text";
  throw new TroupeError("bad_arguments", `${name} has no word list for a tokenizer; ${fix}`);
}

function presetTable(): string[] {
  const right = { align: "right" as const };
  const columns = [
    { title: "preset" },
    { title: "layers", ...right },
    { title: "width", ...right },
    { title: "heads", ...right },
    { title: "longest sequence", ...right },
  ];
  return tableLines(columns, Object.entries(presets).map(presetRow));
}

function presetRow([name, { layers, hiddenSize, heads, maxLength }]: [string, Preset]): string[] {
  return [name, ...[layers, hiddenSize, heads, maxLength].map(String)];
}

function useLines(directory: string): string[] {
  return ["", "to train it, use its directory as a policy's model:", `  model: { path: ${directory} }`];
}
