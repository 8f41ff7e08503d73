/** `troupe init PRESET`: a small untrained model with its tokenizer, in the Hugging Face layout. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command, Option } from "commander";
import type { Environment } from "../environments/environment.ts";
import { createEnvironment, environmentNamed, ofWords } from "../environments/registry.ts";
import { TroupeError } from "../errors.ts";
import { showCount } from "../format.ts";
import { initModel } from "../models/init.ts";
import { presets, type Preset } from "../models/presets.ts";
import { didYouMean } from "../nearest.ts";
import { resolveRecipe } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { writeByteTokenizer } from "../text/byte-tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { wholeNumber } from "./arguments.ts";
import { printJson, printLines } from "./print.ts";
import { tableLines } from "./table.ts";

interface InitArguments {
  readonly environment: string;
  readonly recipe?: string;
  readonly bytes?: boolean;
  readonly maxLength?: number;
  readonly seed: number;
  readonly json?: boolean;
}

/** Bytes are many: the prompts of mathematics alone exceed most presets' longest sequences. */
const lengthInBytes = 8192;
const maxLengthHelp = `longest sequence (default: the preset's, with --bytes ${lengthInBytes})`;

export function initCommand(): Command {
  const known = ofWords.join(", ");
  return new Command("init")
    .description("create a small untrained model with its tokenizer, in the Hugging Face layout")
    .argument("[preset]", "its size; without: list the presets")
    .argument("[directory]", "output directory (default: models/PRESET)")
    .option("--environment <name>", `environment whose words the tokenizer has: ${known}`, "plan-path")
    .option("--recipe <recipe>", "recipe whose environment and options give the words")
    .addOption(bytesOption())
    .option("--max-length <tokens>", maxLengthHelp, wholeNumber(1))
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

function bytesOption(): Option {
  const help = "one token for each byte: reads any text, to try recipes without a pretrained model";
  return new Option("--bytes", help).conflicts(["environment", "recipe"]);
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
    if (options.bytes) writeByteTokenizer(tokenizer);
    else writeWordTokenizer(tokenizer, await wordsOf(options));
    const { seed, maxLength = options.bytes ? lengthInBytes : undefined } = options;
    const length = maxLength === undefined ? {} : { maxLength };
    return await initModel({ directory, preset, tokenizer, seed, ...length });
  } finally {
    await rm(tokenizer, { recursive: true });
  }
}

async function wordsOf({ environment, recipe }: InitArguments): Promise<readonly string[]> {
  if (recipe !== undefined) return wordsIn((await resolveRecipe(findRecipe(recipe))).environment);
  // Others would first read their data sets.
  const { name } = environmentNamed(environment);
  return ofWords.includes(name) ? wordsIn(await createEnvironment(name, {})) : wordsIn({ name });
}

function wordsIn({ name, oracle }: Pick<Environment, "name" | "oracle">): readonly string[] {
  if (oracle?.words !== undefined) return oracle.words;
  const fix = "use a pretrained model, whose tokenizer covers any text, or try it with `--bytes`";
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
