/** The data set named in a command: a registered name, a name of the hub, or files. */
import { Command, InvalidArgumentError } from "commander";
import type { z } from "zod";
import { revisionName, type DatasetOption } from "../../data/dataset.ts";
import { findProblemSet } from "../../data/sets/registered.ts";
import { fieldMappingSchema, type FieldMapping } from "../../data/sets/row-form.ts";
import { TroupeError } from "../../errors.ts";
import { showCount, showText } from "../../format.ts";
import { didYouMean } from "../../nearest.ts";
import { isPresentSync } from "../../present.ts";
import type { DataOrigin } from "../../runs/input-records.ts";

type Pair = readonly [key: string, name: string];

export interface GivenOptions {
  readonly config?: string;
  readonly revision?: string;
  readonly form?: string;
  readonly field?: readonly Pair[];
}

export function withDatasetOptions(command: Command): Command {
  return command
    .argument("<dataset>", "registered name, OWNER/NAME on the hub, or a file or folder")
    .option("--config <name>", "configuration, of sets that have several")
    .option("--revision <revision>", "branch, tag or commit on the hub")
    .option("--form <name>", "rows are like those of this registered set")
    .option(
      "--field <key=name>",
      "which field of a row is what: prompt=text; may be repeated",
      collect,
      noPairs,
    );
}

const noPairs: readonly Pair[] = [];

function collect(text: string, previous: readonly Pair[]): readonly Pair[] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("Expected KEY=NAME, such as prompt=text.");
  return [...previous, [text.slice(0, equals), text.slice(equals + 1)]];
}

/** @throws TroupeError `bad_arguments` */
export function datasetGiven(name: string, options: GivenOptions): DatasetOption {
  const rows = {
    ...(options.form !== undefined && { form: options.form }),
    ...(options.field?.length && { fields: fieldsGiven(options.field) }),
  };
  const isFile =
    findProblemSet(name) === undefined &&
    (isPresentSync(name) || /^[./~]|\.(jsonl?|ndjson|parquet)(\.gz)?$/.test(name));
  if (!isFile) {
    const { config, revision } = options;
    if (revision !== undefined && !revisionName.test(revision))
      throw new TroupeError("bad_arguments", `--revision ${revision}: expected a branch, a tag or a commit`);
    return { name, ...(config && { config }), ...(revision && { revision }), ...rows };
  }
  if (options.config !== undefined || options.revision !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `--config and --revision are for the hub's data sets; ${name} is a file`,
    );
  return { files: name, ...rows };
}

function fieldsGiven(pairs: readonly (readonly [string, string])[]): FieldMapping {
  const result = fieldMappingSchema.safeParse(Object.fromEntries(pairs));
  if (result.success) return result.data;
  const keys = Object.keys(fieldMappingSchema.shape);
  const problem = wrongKey(pairs, keys) ?? wrongField(result.error.issues[0]);
  throw new TroupeError("bad_arguments", `--field ${problem}; the keys are ${keys.join(", ")}`);
}

function wrongKey(pairs: readonly Pair[], keys: readonly string[]): string | null {
  const wrong = pairs.find(([key]) => !keys.includes(key))?.[0];
  if (wrong === undefined) return null;
  const hint = didYouMean(wrong, keys);
  return `${wrong}: unknown key${hint === undefined ? "" : `; ${hint}`}`;
}

function wrongField(issue: z.core.$ZodIssue | undefined): string {
  const key = issue?.path.join(".") ?? "";
  if (issue?.code === "invalid_value") return `${key}: expected one of ${issue.values.join(", ")}`;
  return `${key} is missing: ${key}=NAME`;
}

/** A line for each split of the environment. */
export function originLines(data: Readonly<Record<string, DataOrigin>>): string[] {
  return Object.entries(data).map(([split, origin]) => `data ${split}: ${showOrigin(origin)}`);
}

/** `openai/openai_humaneval at 7dce6050a7d6, test[:32]: 32 problems, content hash 0f3a…` */
export function showOrigin(origin: DataOrigin): string {
  const { dataset, commit, slices, problems, malformed, failing, digest } = origin;
  const at = commit === null ? "" : ` at ${commit.slice(0, 12)}`;
  const from = showText(`${dataset}${at}, ${slices}`, 200);
  const skipped =
    malformed + failing === 0 ? "" : ` (${malformed} malformed and ${failing} failing ones skipped)`;
  return `${from}: ${showCount(problems)} problems${skipped}, content hash ${digest.slice(0, 12)}`;
}
