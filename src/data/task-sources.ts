/** The problems of a data set as the finite task sources of an environment. */
import path from "node:path";
import { checkArgument } from "../arguments.ts";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import type { DataOrigin } from "../runs/input-records.ts";
import { datasetSchema, type DatasetOption } from "./dataset.ts";
import { attended, openDataset, type OpenDataset, type OpenOptions } from "./open.ts";
import { findOverlaps, type ShingledProblem } from "./overlaps.ts";
import {
  digestOfAll,
  type FailingProblem,
  type MalformedRow,
  type ProblemStore,
  type StoredProblem,
} from "./prepared.ts";
import type { AnyProblem } from "./problem.ts";
import { checkSplit, parseSlices, rowsOf, type RowRange } from "./slices.ts";

export interface TaskSourcesOptions extends OpenOptions {
  readonly dataset: DatasetOption;
  /** By split of the environment: `{ train: "test[33:133]", heldOut: "test[:32]" }`. */
  readonly splits: Readonly<Record<string, string>>;
}

/** A finite task source (environments/environment.ts). */
export interface ProblemSource {
  readonly size: number;
  /** @param index from 0 to size − 1 */
  at(index: number): Promise<AnyProblem>;
  /** In order. */
  readonly ids: readonly string[];
  /** Their rows, from 0, of their splits. */
  readonly rows: readonly number[];
  /** Malformed rows of the slices, which are left out. */
  readonly malformed: readonly (MalformedRow & { readonly split: string })[];
  /** Problems of the slices that fail their own tests, which are left out. */
  readonly failing: readonly (FailingProblem & { readonly split: string })[];
  /** Rows left out by the option `exclude`. */
  readonly excluded: number;
  /** For the record of a run. */
  readonly origin: DataOrigin;
  /** For comparing prompts, in order. */
  shingled(): Promise<readonly ShingledProblem[]>;
}

/**
 * Opens the data set once and slices it.
 * @throws TroupeError `bad_arguments` for slices that are empty or share rows, `bad_data` if the data set is not
 * available
 */
export async function taskSources(given: TaskSourcesOptions): Promise<Record<string, ProblemSource>> {
  checkArgument("options.dataset", datasetSchema, given.dataset);
  return attended((options) => openSources({ ...options, ...given }));
}

async function openSources({
  dataset,
  splits,
  ...options
}: TaskSourcesOptions): Promise<Record<string, ProblemSource>> {
  const opened = await openDataset(dataset, options);
  const leftOut = leftOutOf(dataset);
  const ranges: NamedRange[] = [];
  const sources: Record<string, ProblemSource> = {};
  for (const [name, text] of Object.entries(splits)) {
    const own = await rangesOf(opened, text);
    ranges.push(...own.map((range) => ({ ...range, name, text })));
    sources[name] = await sourceOfRanges(opened, own, leftOut, text);
  }
  rejectSharedRows(ranges);
  rejectSharedIds(sources);
  return sources;
}

/** In files without ids, or if two splits of a set count from 0. */
function rejectSharedIds(sources: Readonly<Record<string, ProblemSource>>): void {
  const seen = new Set<string>();
  for (const id of Object.values(sources).flatMap(({ ids }) => ids)) {
    if (seen.has(id))
      throw new TroupeError("bad_data", `splits: two problems have the id ${showText(id, 80)}`);
    seen.add(id);
  }
}

interface NamedRange extends RowRange {
  /** The environment's split. */
  readonly name: string;
  readonly text: string;
}

/** Which problems are not used as tasks. */
interface LeftOut {
  readonly excluded: ReadonlySet<string>;
  /** Problems that fail their own tests are not used either. */
  readonly skipsFailing: boolean;
}

const nothing: LeftOut = { excluded: new Set(), skipsFailing: false };

function leftOutOf(dataset: DatasetOption): LeftOut {
  const { exclude, failing } = typeof dataset === "string" ? {} : dataset;
  return { excluded: new Set(exclude), skipsFailing: failing !== "keep" };
}

/** All problems of a sum of slices, `test[:20]`. @throws TroupeError as `taskSources` */
export async function sourceOf(dataset: OpenDataset, slices: string): Promise<ProblemSource> {
  return sourceOfRanges(dataset, await rangesOf(dataset, slices), nothing, slices);
}

/** The rows of a sum of slices. */
async function rangesOf(dataset: OpenDataset, text: string): Promise<RowRange[]> {
  const slices = parseSlices(text);
  for (const { split } of slices) checkSplit(split, Object.keys(dataset.splits), dataset.name);
  const ranges: RowRange[] = [];
  for (const slice of slices) ranges.push(rowsOf(slice, (await dataset.problems(slice.split)).rows));
  return ranges;
}

function whyNone(malformed: readonly MalformedRow[], failing: readonly FailingProblem[]): string {
  const [wrong] = malformed;
  if (wrong !== undefined) return `; row ${wrong.row}: ${wrong.reason}`;
  const [first] = failing;
  if (first === undefined) return "";
  const all = failing.length === 1 ? "one fails its" : `all ${failing.length} fail their`;
  return `: ${all} own tests, as \`${command("data", "verify")} DATASET\` found (row ${first.row}: ${first.reason}); \`failing: keep\` in the dataset keeps them`;
}

async function sourceOfRanges(
  dataset: OpenDataset,
  ranges: readonly RowRange[],
  leftOut: LeftOut,
  text: string,
): Promise<ProblemSource> {
  const parts = await Promise.all(ranges.map((range) => partOf(dataset, range, leftOut)));
  const problems = parts.flatMap((part) => part.problems);
  const malformed = parts.flatMap((part) => part.malformed);
  const failing = parts.flatMap((part) => part.failing);
  if (problems.length === 0) {
    throw new TroupeError(
      "bad_data",
      `${text} of ${dataset.name} has no usable problem${whyNone(malformed, failing)}`,
    );
  }
  const excludedRows = parts.reduce((sum, part) => sum + part.excluded, 0);
  return {
    size: problems.length,
    at: (index) => {
      const place = problems[index];
      if (place === undefined) throw new RangeError(`there is no problem ${index}`);
      return place.store.read(place.problem);
    },
    ids: problems.map(({ problem }) => problem.id),
    rows: problems.map(({ problem }) => problem.row),
    malformed,
    failing,
    excluded: excludedRows,
    origin: {
      ...placeOf(dataset, new Set(ranges.map(({ split }) => split))),
      slices: text,
      problems: problems.length,
      malformed: malformed.length,
      failing: failing.length,
      excluded: excludedRows,
      digest: digestOfAll(problems.map(({ problem }) => problem)),
    },
    shingled: () => shingled(problems),
  };
}

type Place = Pick<DataOrigin, "dataset" | "config" | "commit" | "files">;

/** A local file's identity includes its path and time, so its contents are identified by the problems' digest. */
function placeOf({ name, config, commit, splits }: OpenDataset, used: ReadonlySet<string>): Place {
  const files = commit === null ? [] : [...used].flatMap((split) => splits[split] ?? []);
  return {
    dataset: path.isAbsolute(name) ? path.basename(name) : name,
    config,
    commit,
    files: Object.fromEntries(files.map((file) => [file.path, file.identity])),
  };
}

async function shingled(problems: Part["problems"]): Promise<ShingledProblem[]> {
  const found: ShingledProblem[] = [];
  const byStore = new Map<ProblemStore, ReadonlyMap<number, Uint32Array>>();
  for (const { store, problem } of problems) {
    const shingles = byStore.get(store) ?? (await store.shingles());
    byStore.set(store, shingles);
    found.push({ id: problem.id, shingles: shingles.get(problem.row) ?? new Uint32Array() });
  }
  return found;
}

interface Part {
  readonly problems: readonly { readonly store: ProblemStore; readonly problem: StoredProblem }[];
  readonly malformed: readonly (MalformedRow & { readonly split: string })[];
  readonly failing: ProblemSource["failing"];
  readonly excluded: number;
}

async function partOf(dataset: OpenDataset, range: RowRange, leftOut: LeftOut): Promise<Part> {
  const { split, from, to } = range;
  const store = await dataset.problems(split);
  const isInside = ({ row }: { readonly row: number }) => from <= row && row < to;
  const inside = store.problems.filter(isInside);
  const wanted = inside.filter(({ id }) => !leftOut.excluded.has(id));
  const failing = leftOut.skipsFailing ? (await dataset.failing(split)).filter(isInside) : [];
  const skipped = new Map(failing.map((each) => [each.row, each]));
  return {
    problems: wanted.filter(({ row }) => !skipped.has(row)).map((problem) => ({ store, problem })),
    malformed: store.malformed.filter(isInside).map((each) => ({ ...each, split })),
    failing: wanted.flatMap(({ row }) => skipped.get(row) ?? []).map((each) => ({ ...each, split })),
    excluded: inside.length - wanted.length,
  };
}

/** Training tasks must not be used for evaluation, and none counts twice. */
function rejectSharedRows(ranges: readonly NamedRange[]): void {
  for (const [index, one] of ranges.entries())
    for (const other of ranges.slice(index + 1)) {
      const from = Math.max(one.from, other.from);
      const to = Math.min(one.to, other.to);
      if (one.split !== other.split || from >= to) continue;
      const rows = `rows ${from} to ${to - 1} of ${one.split}`;
      const where =
        one.name === other.name
          ? `${one.name} (${one.text}) twice`
          : `${one.name} (${one.text}) and ${other.name} (${other.text})`;
      throw new TroupeError(
        "bad_arguments",
        `splits: ${rows} are in ${where}; no two splits may share a task`,
      );
    }
}

// --- What to say before training: what is left out, and what training and evaluation share ---

/** In the form of an environment's warnings about its options. */
export interface SourceWarning {
  readonly key: string;
  readonly problem: string;
  readonly fix: string;
}

/** @param key the environment's option that names the data set */
export async function sourceWarnings(
  sources: Readonly<Record<string, ProblemSource>>,
  key: string,
): Promise<readonly SourceWarning[]> {
  const warnings: SourceWarning[] = [];
  const listed = `\`${command("data", "verify")} DATASET\` lists them`;
  for (const [name, { malformed, failing, size }] of Object.entries(sources)) {
    const [row] = malformed;
    if (row !== undefined) {
      const example = `row ${row.row} of ${row.split}: ${row.reason}`;
      const share = `${malformed.length} of ${size + malformed.length} rows`;
      const problem = `${name}: ${share} are not problems and are skipped (${example})`;
      warnings.push({ key, problem, fix: listed });
    }
    const [own] = failing;
    if (own !== undefined) {
      const example = `row ${own.row} of ${own.split}, ${showText(own.id, 60)}: ${own.reason}`;
      const share = `${failing.length} of ${size + failing.length} problems`;
      const problem = `${name}: ${share} fail their own tests and are skipped (${example})`;
      warnings.push({ key, problem, fix: `${listed}; \`failing: keep\` in the dataset keeps them` });
    }
  }
  const { train, ...others } = sources;
  if (train === undefined) return warnings;
  const trained = await train.shingled();
  for (const [name, source] of Object.entries(others)) {
    const overlaps = findOverlaps(trained, await source.shingled());
    const [first] = overlaps;
    if (first === undefined) continue;
    const same = overlaps.filter(({ isSame }) => isSame).length;
    const example = `${first.evaluation} is ${first.isSame ? "the same as" : "like"} ${first.train}`;
    const problem = `${overlaps.length} of ${source.size} problems of ${name} are in train, too, ${same} of them word for word (${example})`;
    warnings.push({ key, problem, fix: "leave them out with `exclude`, or cut other slices" });
  }
  return warnings;
}
