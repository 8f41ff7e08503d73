/**
 * Opens a data set as a recipe or a command names it, registered, of the hub or in files: which configuration and files
 * it has, and the problems of its splits. Commands can attend the downloads that this takes.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { statOf } from "../present.ts";
import { cacheLayout, type CacheLayout } from "./cache.ts";
import { resolveDataset, type DatasetOption, type ResolvedDataset } from "./dataset.ts";
import type { Transfer } from "./hub/download.ts";
import { hubAccess, type HubAccess } from "./hub/requests.ts";
import { openHubDataset, type HubOpening } from "./hub/snapshot.ts";
import {
  readFailing,
  writeFailing,
  prepareSplit,
  type FailingProblem,
  type ProblemStore,
} from "./prepared.ts";
import type { ProblemSet, SplitFacts } from "./sets/problem-set.ts";
import { checkSplit } from "./slices.ts";
import { fileSnapshot, folderSnapshot, type Snapshot, type SnapshotFile } from "./snapshot.ts";
import { configsOf, type ConfigFiles, type SplitFiles } from "./splits.ts";

export interface OpenOptions extends Partial<Omit<Transfer, "cache" | "access">> {
  /** Default: from the environment (`cacheRoot`). */
  readonly cache?: CacheLayout;
  /** Default: from the environment. */
  readonly access?: HubAccess;
  /** Ask the hub for the current revision, even if the cache has one. */
  readonly refresh?: boolean;
  /** Rows of a split read so far. */
  readonly prepared?: (split: string, rows: number) => void;
}

export interface OpenDataset {
  /** `openai/openai_humaneval`, or the files. */
  readonly name: string;
  /** Null: local files. */
  readonly commit: string | null;
  readonly config: string;
  /** The registered set; null: not registered. */
  readonly set: ProblemSet | null;
  readonly snapshot: Snapshot;
  readonly splits: Readonly<Record<string, readonly SnapshotFile[]>>;
  /** The published number of rows, if known. */
  expectedRows(split: string): number | null;
  /** Downloads and reads what is not yet in the cache. @throws TroupeError */
  problems(split: string): Promise<ProblemStore>;
  /** Problems of the split that fail their own tests; empty if `troupe data verify` has not run the solutions. */
  failing(split: string): Promise<readonly FailingProblem[]>;
  recordFailing(split: string, failing: readonly FailingProblem[]): Promise<void>;
}

/** @throws TroupeError `bad_arguments` for an unknown name, `bad_data` if it is not available */
export async function openDataset(given: DatasetOption, options: OpenOptions = {}): Promise<OpenDataset> {
  const dataset = resolveDataset(given);
  const cache = options.cache ?? cacheLayout();
  const transfer = { ...options, cache, access: options.access ?? hubAccess() };
  const { snapshot, splits, config } =
    dataset.place === "files" ? await openFiles(dataset) : await openHub(dataset, transfer);
  const problems = (split: string): Promise<ProblemStore> => {
    checkSplit(split, Object.keys(splits), snapshot.dataset);
    const files = splits[split] ?? [];
    return prepareSplit({ snapshot, split, files, form: dataset.form }, transfer);
  };
  return {
    name: snapshot.dataset,
    commit: snapshot.commit,
    config,
    set: dataset.set,
    snapshot,
    splits,
    expectedRows: (split) => dataset.set?.configs[config]?.splits[split]?.rows ?? null,
    problems,
    failing: async (split) => readFailing(cache, await problems(split)),
    recordFailing: async (split, failing) => writeFailing(cache, await problems(split), failing),
  };
}

interface Opened {
  readonly snapshot: Snapshot;
  readonly splits: Readonly<Record<string, readonly SnapshotFile[]>>;
  readonly config: string;
}

async function openHub(
  { hub, option, set }: ResolvedDataset & { place: "hub" },
  opening: HubOpening,
): Promise<Opened> {
  const config = set === null ? null : configOf(set, option.config);
  const open = { dataset: hub, revision: option.revision ?? null, set, config };
  const snapshot = await openHubDataset(open, opening);
  if (set !== null && config !== null) {
    const splits = splitsOfSet(snapshot, set, config);
    return { snapshot, config, splits: located(snapshot, splits) };
  }
  const found = chosenConfig(configsOf(pathsOf(snapshot), snapshot.configs), option.config, hub);
  return { snapshot, config: found.name, splits: located(snapshot, found.splits) };
}

function configOf({ name, configs }: ProblemSet, given: string | undefined): string {
  const names = Object.keys(configs);
  if (given === undefined) return names[0] ?? "default";
  if (names.includes(given)) return given;
  const hint = didYouMean(given, names) ?? `it has ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `${name} has no configuration ${given}; ${hint}`);
}

/** A registered split's files: the first of its lists that is complete, otherwise by name. */
function splitsOfSet(snapshot: Snapshot, set: ProblemSet, config: string): SplitFiles {
  const paths = pathsOf(snapshot);
  const byName = configsOf(paths, snapshot.configs, soleSplit(set));
  // With several configurations, a file without a configuration in its name may belong to any of them.
  const isSole = byName.length === 1 && Object.keys(set.configs).length === 1;
  const own = byName.find(({ name }) => name === config) ?? (isSole ? byName[0] : undefined);
  const bySplit = own === undefined ? {} : underSoleSplit(own.splits, soleSplit(set));
  const facts = Object.entries(set.configs[config]?.splits ?? {});
  const found = facts.map(([split, { files }]) => [split, listed(files, paths) ?? bySplit[split]] as const);
  const missing = found.filter(([, files]) => files === undefined).map(([split]) => split);
  if (missing.length === facts.length) throw noFiles(snapshot, set.name, config);
  return Object.fromEntries(found.filter(([, files]) => files !== undefined)) as SplitFiles;
}

/** The only split of a set may have another name on the hub: CoopHumanEval's has been called train. */
function underSoleSplit(splits: SplitFiles, sole: string | undefined): SplitFiles {
  const [files, ...others] = Object.values(splits);
  return sole === undefined || files === undefined || others.length > 0 ? splits : { [sole]: files };
}

function listed(lists: SplitFacts["files"], paths: readonly string[]): readonly string[] | undefined {
  return lists?.find((files) => files.every((file) => paths.includes(file)));
}

function noFiles(snapshot: Snapshot, name: string, config: string): TroupeError {
  const where = snapshot.commit === null ? snapshot.dataset : `${snapshot.dataset} at ${snapshot.commit}`;
  const fix = "the set may have changed: name an earlier commit with `revision`";
  return new TroupeError("bad_data", `${where} has no files of ${name}, configuration ${config}; ${fix}`);
}

function pathsOf({ files }: Snapshot): string[] {
  return files.map((file) => file.path);
}

function located(snapshot: Snapshot, splits: SplitFiles): Opened["splits"] {
  const byPath = new Map(snapshot.files.map((file) => [file.path, file]));
  const entries = Object.entries(splits).map(([split, paths]) => [
    split,
    paths.flatMap((file) => byPath.get(file) ?? []),
  ]);
  return Object.fromEntries(entries) as Opened["splits"];
}

function chosenConfig(
  configs: readonly ConfigFiles[],
  given: string | undefined,
  dataset: string,
): ConfigFiles {
  const names = configs.map(({ name }) => name);
  const found = given === undefined ? soleConfig(configs) : configs.find(({ name }) => name === given);
  if (found !== undefined) return found;
  if (names.length === 0)
    throw new TroupeError("bad_data", `${dataset} has no data files that are read: .parquet, .jsonl, .json`);
  const problem = given === undefined ? "has several configurations" : `has no configuration ${given}`;
  throw new TroupeError(
    "bad_arguments",
    `${dataset} ${problem}; name one with \`config\`: ${names.join(", ")}`,
  );
}

function soleConfig(configs: readonly ConfigFiles[]): ConfigFiles | undefined {
  return configs.length === 1 ? configs[0] : configs.find(({ name }) => name === "default");
}

/** In a set with a single split, files without a split in their names belong to it. */
function soleSplit(set: ProblemSet | null): string | undefined {
  const splits = new Set(Object.values(set?.configs ?? {}).flatMap((config) => Object.keys(config.splits)));
  return splits.size === 1 ? [...splits][0] : undefined;
}

async function openFiles({ option, formSet }: ResolvedDataset & { place: "files" }): Promise<Opened> {
  const { files } = option;
  const unnamed = soleSplit(formSet);
  if (typeof files === "string" && (await isFolder(files))) {
    const snapshot = await folderSnapshot(path.resolve(files), files);
    const config = chosenConfig(configsOf(pathsOf(snapshot), snapshot.configs, unnamed), undefined, files);
    return { snapshot, config: config.name, splits: located(snapshot, config.splits) };
  }
  const bySplit =
    typeof files === "string" || Array.isArray(files) ? namedSplits([files].flat(), unnamed) : files;
  const splits: Record<string, SnapshotFile[]> = {};
  for (const [split, names] of Object.entries(bySplit))
    splits[split] = await Promise.all([names].flat().map(localFile));
  const snapshot = localSnapshot(Object.values(splits).flat());
  return { snapshot, config: "default", splits };
}

function namedSplits(
  files: readonly string[],
  unnamed: string | undefined,
): Readonly<Record<string, readonly string[]>> {
  const base = new Map(files.map((file) => [path.basename(file), file]));
  const [config] = configsOf([...base.keys()], null, unnamed);
  if (config === undefined) return { [unnamed ?? "train"]: files };
  return Object.fromEntries(
    Object.entries(config.splits).map(([split, names]) => [
      split,
      names.map((name) => base.get(name) ?? name),
    ]),
  );
}

async function isFolder(name: string): Promise<boolean> {
  return (await statOf(name, "bad_data"))?.isDirectory() === true;
}

async function localFile(name: string): Promise<SnapshotFile> {
  const file = path.resolve(name);
  try {
    return await fileSnapshot(file, file);
  } catch (error) {
    const problem = (error as NodeJS.ErrnoException).code === "ENOENT" ? "there is no file" : "cannot read";
    throw new TroupeError("bad_data", `dataset.files: ${problem} ${file}`, { cause: error });
  }
}

function localSnapshot(files: readonly SnapshotFile[]): Snapshot {
  const dataset = files.map((file) => path.basename(file.path)).join(", ");
  return { dataset, commit: null, files, configs: null, locate: atOwnPath, present: atOwnPath };
}

function atOwnPath({ path: file }: SnapshotFile): Promise<string> {
  return Promise.resolve(file);
}

/** Calls `work` with options that show and cancel its downloads. */
export type Attendant = <T>(work: (options: OpenOptions) => Promise<T>) => Promise<T>;

const attendants = new AsyncLocalStorage<Attendant>();

/** Downloads during `work` are shown by the attendant. */
export function withAttendant<T>(attendant: Attendant, work: () => Promise<T>): Promise<T> {
  return attendants.run(attendant, work);
}

/** Without an attendant downloads are silent and end with the process. */
export function attended<T>(work: (options: OpenOptions) => Promise<T>): Promise<T> {
  const attendant = attendants.getStore();
  return attendant === undefined ? work({}) : attendant(work);
}
