/** Resolves the paths of a data set's local files. */
import { dirname, resolve } from "node:path";
import type { MappingTree, Path } from "./tree.ts";
import { originAt, treeAt } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

/** The recipe with absolute paths: relative to the file that sets them, in overrides to the current directory. */
export function withDatasetFiles(plain: Plain, tree: MappingTree): Plain {
  const { environment } = plain;
  if (!isMapping(environment)) return plain;
  const own = withFiles(environment, ["environment"], tree);
  const { splits } = own;
  if (!isMapping(splits)) return own === environment ? plain : { ...plain, environment: own };
  // Of an environment whose splits may be from data sets of their own.
  const resolvedSplits = Object.entries(splits).map(([split, given]) => [
    split,
    isMapping(given) ? withFiles(given, ["environment", "splits", split], tree) : given,
  ]);
  return { ...plain, environment: { ...own, splits: Object.fromEntries(resolvedSplits) as Plain } };
}

/** What has a data set, with its paths absolute. */
function withFiles(given: Plain, path: Path, tree: MappingTree): Plain {
  const { dataset } = given;
  if (!isMapping(dataset) || dataset["files"] === undefined) return given;
  const key = [...path, "dataset", "files"];
  return { ...given, dataset: { ...dataset, files: resolved(dataset["files"], key, key, tree) } };
}

/** A path, a list of them, or either by split; the schema rejects anything else. */
function resolved(files: unknown, path: Path, key: Path, tree: MappingTree): unknown {
  if (typeof files === "string") return resolve(folderOf(path, key, tree), files);
  if (Array.isArray(files)) return files.map((file, index) => resolved(file, [...path, index], key, tree));
  if (!isMapping(files)) return files;
  const entries = Object.entries(files).map(([split, each]) => [
    split,
    resolved(each, [...path, split], key, tree),
  ]);
  return Object.fromEntries(entries) as Plain;
}

/** @param key of the files as a whole */
function folderOf(path: Path, key: Path, tree: MappingTree): string {
  const origin = originAt(tree, treeAt(tree, path) === undefined ? key : path);
  return origin.kind === "file" ? dirname(origin.file) : process.cwd();
}

function isMapping(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
