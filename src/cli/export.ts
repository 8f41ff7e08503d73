/** `troupe export RUN [ROLE]`: trained weights for other programs, as a Hugging Face model, a PEFT adapter or a GGUF file. */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { Command, Option } from "commander";
import { command, runsFolder, runsOption, shellWord } from "../command-line.ts";
import type { PolicyOptions } from "../engines/engine.ts";
import { savedDirectory } from "../engines/kind.ts";
import { TroupeError } from "../errors.ts";
import { showCount } from "../format.ts";
import { baseOf, holdsAdapter, nameOfBase } from "../models/adapter-base.ts";
import { writeAdapter, writeMerged, type PolicyFiles } from "../models/exported.ts";
import { isOwnGguf, writePolicyGguf } from "../models/gguf-model.ts";
import { isReplaceable } from "../models/replace-directory.ts";
import { isPresentSync } from "../present.ts";
import { makeScratch, writeBeside } from "../runs/scratch.ts";
import { policyNamed, weightsOfDirectory, weightsOfPolicy, type Weights } from "../train/weights.ts";
import { findPlace, type Place } from "./places.ts";
import { printJson, printLines, printNote } from "./print.ts";

const formats = { bfloat16: "BF16", float32: "F32", q8_0: "Q8_0" } as const;

type Dtype = keyof typeof formats;

/** What each layout can be written in, the default first. */
const layouts = {
  merged: ["bfloat16", "float32"],
  peft: ["float32"],
  gguf: ["bfloat16", "q8_0", "float32"],
} as const satisfies Readonly<Record<string, readonly Dtype[]>>;

type Layout = keyof typeof layouts;

interface ExportArguments {
  readonly to: Layout;
  readonly out?: string;
  readonly dtype?: Dtype;
  readonly force?: boolean;
  readonly runs: string;
  readonly json?: boolean;
}

export function exportCommand(): Command {
  return new Command("export")
    .description(
      "write trained weights for other programs: a Hugging Face model, a PEFT adapter, or a GGUF file",
    )
    .argument("<run-or-model>", "name or folder of a run, a checkpoint's folder, or a model directory")
    .argument("[role]", "a role or policy of the run (default: its only policy)")
    .addOption(
      new Option(
        "--to <layout>",
        "merged: a whole model, adapters merged into it; gguf: the same as one file for llama.cpp and Ollama; peft: the adapter alone",
      )
        .choices(Object.keys(layouts))
        .makeOptionMandatory(),
    )
    .option(
      "--out <path>",
      "output directory, or file of gguf (default: models/RUN-POLICY, with peft …-adapter, with gguf ….gguf)",
    )
    .addOption(
      new Option(
        "--dtype <type>",
        "of the weights (default: bfloat16); q8_0, 8 bits and a scale for 32 weights, is for gguf only",
      ).choices(Object.keys(formats)),
    )
    .option("--force", "replace an earlier export; anything else that exists is never replaced")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(exportWeights);
}

/** The file that identifies an exported directory: what it was made of. */
const marker = "troupe-export.json";

async function exportWeights(
  given: string,
  role: string | undefined,
  options: ExportArguments,
): Promise<void> {
  const { to, force = false } = options;
  const dtype = options.dtype ?? layouts[to][0];
  if (!layouts[to].some((one) => one === dtype)) throw wrongType(to, dtype);
  const place = await findPlace(given, options.runs);
  const policy = policyOf(place, role);
  const out = options.out ?? join("models", `${nameOf(place, policy)}${suffixOf(to, dtype)}`);
  checkFree(out, to, force);
  await using scratch = await makeScratch(tmpdir(), "troupe-export-");
  const weights = await weightsOf(place, policy, scratch.directory);
  const files = filesOf(place, policy, weights);
  if (to === "peft") checkStays(files.base, scratch.directory, weights);
  const origin = { from: weights.label, step: weights.step, to, dtype };
  const parameters = await writeBeside(
    out,
    () => checkFree(out, to, force),
    async (path) => {
      if (to === "gguf") return writePolicyGguf(path, files, formats[dtype], JSON.stringify(origin));
      await mkdir(path);
      await writeFile(join(path, marker), `${JSON.stringify(origin, null, 2)}\n`);
      if (to === "peft") return writeAdapter(path, files, nameOfBase(out, files.base));
      return writeMerged(path, files, dtype === "float32" ? "F32" : "BF16");
    },
  );
  noteVariables(weights);
  const written = { out, ...origin, parameters };
  const { out: _, ...facts } = written;
  if (options.json) printJson({ [to === "gguf" ? "file" : "directory"]: out, ...facts });
  else printLines([writtenLine(written, files), ...nextLines(given, place, written, policy, options.runs)]);
}

function wrongType(to: Layout, dtype: Dtype): TroupeError {
  const known = layouts[to].join(" or ");
  return new TroupeError("bad_arguments", `--dtype ${dtype} is not for ${to}; it is written in ${known}`);
}

function suffixOf(to: Layout, dtype: Dtype): string {
  if (to === "peft") return "-adapter";
  if (to === "merged") return "";
  return dtype === layouts.gguf[0] ? ".gguf" : `-${dtype}.gguf`;
}

/** @throws TroupeError `bad_arguments` if something has the name, other than an earlier export with --force */
function checkFree(out: string, to: Layout, force: boolean): void {
  if (!isPresentSync(out)) return;
  if (!force) {
    const fix = "give another --out, or replace an earlier export with --force";
    throw new TroupeError("bad_arguments", `${out} exists; ${fix}`);
  }
  if (to === "gguf" ? isOwnGguf(out) : isReplaceable(out, marker)) return;
  throw new TroupeError(
    "bad_arguments",
    `${out} exists and is not an earlier export of this kind; choose a new name`,
  );
}

interface Written {
  readonly out: string;
  readonly from: string;
  readonly step: number | null;
  readonly to: Layout;
  readonly dtype: Dtype;
  readonly parameters: number;
}

/** `models/one-solver: one:solver after step 12, 109,120 parameters in bfloat16`, and what an adapter is or was on. */
function writtenLine(
  { out, from, step, to, dtype, parameters }: Written,
  { directory, base }: PolicyFiles,
): string {
  const moment = step === null ? "" : ` after step ${step}`;
  const size = `${showCount(parameters)} parameters in ${dtype}`;
  const merged = holdsAdapter(directory) ? `, its adapter merged into ${base}` : "";
  return `${out}: ${from}${moment}, ${size}${to === "peft" ? `, an adapter on ${base}` : merged}`;
}

/** How to evaluate a directory in the run's team, where it is known which roles play it; and how to run a GGUF file. */
function nextLines(
  given: string,
  place: Place,
  { out, to }: Written,
  policy: string | null,
  runs: string,
): string[] {
  if (to === "gguf") return ["", "next, with llama.cpp:", `  llama-server -m ${shellWord(out)} --jinja`];
  const roles = place.kind === "run" ? Object.entries(place.run.recipe.team.roles) : [];
  const pairs = roles.flatMap(([name, role]) => (role.policy === policy ? `${name}=${out}` : []));
  if (pairs.length === 0) return [];
  // A merged model is a whole one, which an engine with bases in 4 bits does not take.
  const { engine } = place.kind === "run" ? place.run.recipe : {};
  const isIn4Bits = engine !== undefined && "quantise" in engine && engine.quantise === "nf4";
  const changed = to === "merged" && isIn4Bits ? ["engine.quantise=none"] : [];
  return [
    "",
    "next:",
    `  ${command("eval", given, ...changed, "--policies", pairs.join(","), ...runsOption(runs))}`,
  ];
}

/** Null: a directory's weights, which have no policy's name. */
function policyOf(place: Place, role: string | undefined): string | null {
  if (place.kind === "model") {
    if (role === undefined) return null;
    throw new TroupeError("bad_arguments", `${place.directory} is a model directory; omit ${role}`);
  }
  if (role !== undefined) return policyNamed(place.run, role);
  const policies = Object.keys(place.run.recipe.policies);
  const [only] = policies;
  if (only !== undefined && policies.length === 1) return only;
  throw new TroupeError(
    "bad_arguments",
    `${place.run.name} has several policies; name a role or one of them: ${policies.join(", ")}`,
  );
}

function nameOf(place: Place, policy: string | null): string {
  return place.kind === "run" ? `${place.run.name}-${policy}` : basename(resolve(place.directory));
}

function weightsOf(place: Place, policy: string | null, scratch: string): Promise<Weights> {
  if (place.kind === "model" || policy === null) return weightsOfDirectory(directoryOf(place));
  return weightsOfPolicy(place.run, policy, scratch);
}

function directoryOf(place: Place): string {
  return place.kind === "model" ? place.directory : place.run.directory;
}

/** As the local engine loads them: an adapter is on the model of its recipe. */
function filesOf(place: Place, policy: string | null, { from, model, text, label }: Weights): PolicyFiles {
  const [directory, below] = [localDirectory(from ?? model), localDirectory(model)];
  if (directory !== null && below !== null) return { directory, base: baseOf(below), text };
  const named = policy === null ? [] : ["--policy", policy];
  const first = command("runs", "weights", directoryOf(place), ...named, "--out", "DIRECTORY");
  const then = command("export", "DIRECTORY", "--to", "merged");
  throw new TroupeError("bad_arguments", `a server keeps ${label}; first \`${first}\`, then \`${then}\``);
}

/** An adapter names its base, so the base must not be one that was created for this command alone. */
function checkStays(base: string, scratch: string, { label }: Weights): void {
  if (!base.startsWith(scratch)) return;
  const problem = `the model below ${label} is no longer in the run's folder`;
  throw new TroupeError("bad_run", `${problem}, so its adapter alone could not be used; use \`--to merged\``);
}

function localDirectory(weights: PolicyOptions["model"]): string | null {
  return typeof weights === "string" ? weights : savedDirectory(weights);
}

/** The chat template is exported, but what the recipe passes to it is not a part of a model. */
function noteVariables({ templateVariables, label }: Weights): void {
  if (Object.keys(templateVariables).length === 0) return;
  const variables = JSON.stringify(templateVariables);
  printNote(
    `${label} was trained with ${variables} for its chat template; pass them on (chat_template_kwargs)`,
  );
}
