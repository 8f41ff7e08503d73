/**
 * `troupe runs export RUN`: a run's records as a table, sent to TensorBoard, Weights & Biases or an OTLP receiver, or its
 * episodes as ATIF documents.
 */
import { writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { Command, Option } from "commander";
import { retrying, standardRetries } from "../../calls/retry.ts";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { writeAtif } from "../../logging/atif/write.ts";
import { openSink } from "../../logging/open.ts";
import { withoutSecrets, sinkNames, type LoggingSettings, type SinkName } from "../../logging/settings.ts";
import { SinkError, type Sink } from "../../logging/sink.ts";
import { csvLines, parquetFile, readTable, tableNames, type TableName } from "../../logging/tables/tables.ts";
import { settingsOf } from "../../recipes/parts.ts";
import { acquireLock } from "../../runs/lock.ts";
import { readRecipe } from "../../runs/read.ts";
import { findRun } from "../places.ts";
import { printLines } from "../print.ts";
import { version } from "../version.ts";

interface ExportOptions {
  readonly runs: string;
  readonly table?: TableName;
  readonly format?: "csv" | "parquet";
  readonly out?: string;
  readonly to?: SinkName | typeof atif;
}

/** Trajectories in the format of other viewers, which no service receives. */
const atif = "atif";

export function exportCommand(): Command {
  return new Command("export")
    .alias("csv")
    .description("write a run's records as a table, or send them to a logging service")
    .argument("<run>", "name or folder of a run")
    .argument("[key.path=value...]", "with --to: overrides of the recipe's logging section")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .addOption(new Option("--table <table>", "what to write (default: metrics)").choices(tableNames))
    .addOption(
      new Option("--format <format>", "default: by the ending of --out, or else csv").choices([
        "csv",
        "parquet",
      ]),
    )
    .option(
      "--out <file>",
      "default: standard output; with --to atif a folder (default: logging/atif in the run's)",
    )
    .addOption(
      new Option("--to <sink>", "send what is missing there; atif: write trajectories, a file each")
        .choices([...sinkNames, atif])
        .conflicts(["table", "format"]),
    )
    .action(async (given: string, overrides: string[], options: ExportOptions) => {
      const directory = await findRun(given, options.runs);
      const { to, out } = options;
      if (to !== undefined && to !== atif) {
        if (out !== undefined) throw new TroupeError("bad_arguments", `--out: ${to} has a place of its own`);
        return send(directory, to, overrides);
      }
      if (overrides.length > 0)
        throw new TroupeError("bad_arguments", `${overrides[0]}: overrides are for --to with a service`);
      await (to === atif ? writeTrajectories(directory, out) : write(directory, options));
    });
}

async function write(directory: string, options: ExportOptions): Promise<void> {
  const { table = "metrics", out } = options;
  const format = options.format ?? (out?.endsWith(".parquet") ? "parquet" : "csv");
  if (format === "parquet" && out === undefined)
    throw new TroupeError("bad_arguments", "a Parquet file is not text: give its name with --out");
  const contents = await readTable(directory, table);
  if (out === undefined) return printLines(csvLines(contents));
  const file = format === "parquet" ? parquetFile(contents) : `${csvLines(contents).join("\n")}\n`;
  writeOut(out, file);
  printLines([`${table} of ${path.basename(directory)}: ${contents.rows.length} rows in ${out}`]);
}

function writeOut(out: string, contents: string | Uint8Array): void {
  try {
    writeFileSync(out, contents);
  } catch (error) {
    throw new TroupeError("bad_arguments", `${out} cannot be written: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function writeTrajectories(directory: string, out?: string): Promise<void> {
  const folder = out ?? path.join(directory, "logging", atif);
  const { name: recipe = "" } = (await readRecipe(directory)) as { readonly name?: string };
  const files = await writeAtif(
    directory,
    { name: path.basename(directory), recipe, version: version() },
    folder,
    out === undefined,
  );
  printLines([`${files} trajectories of ${path.basename(directory)} in ${folder}`]);
}

async function send(directory: string, name: SinkName, overrides: readonly string[]): Promise<void> {
  const settings = settingsOf(await readRecipe(directory), overrides);
  const folder = path.join(directory, "logging");
  await fs.mkdir(folder, { recursive: true });
  const lock = await acquireLock(folder);
  try {
    await sendAll(await openSink(name, directory, settings, process.env));
  } finally {
    await lock.release();
  }
  printLines([`${name} has everything of ${path.basename(directory)}${placeOf(directory, name, settings)}`]);
}

async function sendAll(sink: Sink): Promise<void> {
  try {
    await retrying(() => sink.update(), { ...standardRetries, retries: 2 });
  } catch (error) {
    if (!(error instanceof SinkError)) throw error;
    const problem = withoutSecrets(error.message, process.env);
    throw new SinkError(`${sink.title}: ${problem}. The same command sends what is missing.`, {
      cause: error,
    });
  } finally {
    await sink.close();
  }
}

/** How to open or upload the files that the sink wrote; empty: there are none. */
function placeOf(directory: string, name: SinkName, { wandb }: LoggingSettings): string {
  const folder = path.join(directory, "logging");
  if (name === "tensorboard") return `: \`tensorboard --logdir ${path.join(folder, "tensorboard")}\``;
  if (name === "wandb" && wandb?.mode === "offline")
    return `: \`wandb sync ${path.join(folder, "wandb", "offline-run-*")}\``;
  return "";
}
