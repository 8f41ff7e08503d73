/** Resolves the paths of a data set's local files. */
import { resolve } from "node:path";
import { folderAt } from "./places.ts";
import type { MappingTree, Path } from "./tree.ts";

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
  return { ...given, dataset: { ...dataset, files: resolved(dataset["files"], key, tree) } };
}

/** A path, a list of them, or either by split; the schema rejects anything else. */
function resolved(files: unknown, path: Path, tree: MappingTree): unknown {
  if (typeof files === "string") return resolve(folderAt(tree, path), files);
  if (Array.isArray(files)) return files.map((file, index) => resolved(file, [...path, index], tree));
  if (!isMapping(files)) return files;
  const entries = Object.entries(files).map(([split, each]) => [
    split,
    resolved(each, [...path, split], tree),
  ]);
  return Object.fromEntries(entries) as Plain;
}

function isMapping(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
