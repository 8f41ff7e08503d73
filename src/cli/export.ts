/** `troupe export RUN [ROLE]`: trained weights for other programs, as a Hugging Face model or a PEFT adapter. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { Command, Option } from "commander";
import { command, runsFolder, runsOption } from "../command-line.ts";
import type { PolicyOptions } from "../engines/engine.ts";
import { savedDirectory } from "../engines/kind.ts";
import { TroupeError } from "../errors.ts";
import { showCount } from "../format.ts";
import { baseOf, holdsAdapter } from "../models/adapter-base.ts";
import { writeAdapter, writeMerged, type PolicyFiles } from "../models/exported.ts";
import { replaceDirectory } from "../models/replace-directory.ts";
import { isPresentSync } from "../present.ts";
import { policyNamed, weightsOfDirectory, weightsOfPolicy, type Weights } from "../train/weights.ts";
import { findPlace, type Place } from "./places.ts";
import { printJson, printLines, printNote } from "./print.ts";

const formats = { bfloat16: "BF16", float32: "F32" } as const;

interface ExportArguments {
  readonly to: "merged" | "peft";
  readonly out?: string;
  readonly dtype?: keyof typeof formats;
  readonly force?: boolean;
  readonly runs: string;
  readonly json?: boolean;
}

export function exportCommand(): Command {
  return new Command("export")
    .description("write trained weights for other programs: a Hugging Face model, or a PEFT adapter")
    .argument("<run-or-model>", "name or folder of a run, a checkpoint's folder, or a model directory")
    .argument("[role]", "a role or policy of the run (default: its only policy)")
    .addOption(
      new Option("--to <layout>", "merged: a whole model, adapters merged into it; peft: the adapter alone")
        .choices(["merged", "peft"])
        .makeOptionMandatory(),
    )
    .option("--out <directory>", "output directory (default: models/RUN-POLICY, with peft …-adapter)")
    .addOption(
      new Option("--dtype <type>", "of a merged model's weights (default: bfloat16)").choices(
        Object.keys(formats),
      ),
    )
    .option("--force", "replace an earlier export; anything else that exists is never replaced")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(exportWeights);
}

/** The file that identifies an export: what it was made of. */
const marker = "troupe-export.json";

async function exportWeights(
  given: string,
  role: string | undefined,
  options: ExportArguments,
): Promise<void> {
  const { to, dtype = to === "peft" ? "float32" : "bfloat16", force = false } = options;
  if (to === "peft" && options.dtype !== undefined)
    throw new TroupeError("bad_arguments", "--dtype is for merged models; an adapter is written in float32");
  const place = await findPlace(given, options.runs);
  const policy = policyOf(place, role);
  const out = options.out ?? join("models", `${nameOf(place, policy)}${to === "peft" ? "-adapter" : ""}`);
  if (!force && isPresentSync(out))
    throw new TroupeError(
      "bad_arguments",
      `${out} exists; give another --out, or replace an earlier export with --force`,
    );
  const scratch = await mkdtemp(join(tmpdir(), "troupe-models-"));
  try {
    const weights = await weightsOf(place, policy, scratch);
    const files = filesOf(place, policy, weights);
    if (to === "peft") checkStays(files.base, scratch, weights);
    const origin = { from: weights.label, step: weights.step, to, dtype };
    let parameters = 0;
    await replaceDirectory(out, marker, async (folder) => {
      parameters = await (to === "merged"
        ? writeMerged(folder, files, formats[dtype])
        : writeAdapter(folder, files));
      await writeFile(join(folder, marker), `${JSON.stringify(origin, null, 2)}\n`);
    });
    noteVariables(weights);
    const written = { directory: out, ...origin, parameters };
    if (options.json) printJson(written);
    else printLines([writtenLine(written, files), ...nextLines(given, place, written, policy, options.runs)]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

interface Written {
  readonly directory: string;
  readonly from: string;
  readonly step: number | null;
  readonly to: ExportArguments["to"];
  readonly dtype: keyof typeof formats;
  readonly parameters: number;
}

/** `models/one-solver: one:solver after step 12, 109,120 parameters in bfloat16`, and what an adapter is or was on. */
function writtenLine(
  { directory: out, from, step, to, dtype, parameters }: Written,
  { directory, base }: PolicyFiles,
): string {
  const moment = step === null ? "" : ` after step ${step}`;
  const size = `${showCount(parameters)} parameters in ${dtype}`;
  const merged = holdsAdapter(directory) ? `, its adapter merged into ${base}` : "";
  return `${out}: ${from}${moment}, ${size}${to === "peft" ? `, an adapter on ${base}` : merged}`;
}

/** How to evaluate the directory in the run's team, where it is known which roles play it. */
function nextLines(
  given: string,
  place: Place,
  { directory }: Written,
  policy: string | null,
  runs: string,
): string[] {
  const roles = place.kind === "run" ? Object.entries(place.run.recipe.team.roles) : [];
  const pairs = roles.flatMap(([name, role]) => (role.policy === policy ? `${name}=${directory}` : []));
  if (pairs.length === 0) return [];
  return ["", "next:", `  ${command("eval", given, "--policies", pairs.join(","), ...runsOption(runs))}`];
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
