/** The paths in a recipe: which folder each is relative to, and the recipe with all of them as seen from here. */
import { dirname, join, resolve, sep } from "node:path";
import type { JudgeDefinition } from "../judges/judge.ts";
import { checkModel } from "../models/model-digests.ts";
import { isPresentSync } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { judgeRow } from "./catalog.ts";
import type { Recipe } from "./schema.ts";
import { shippedFolder } from "./shipped.ts";
import { showPath, originAt, type Origin, type MappingTree, type Path } from "./tree.ts";

/** The folder of the file that sets the value at a path, or its nearest parent; if an override does, the current one. */
export function folderAt(tree: MappingTree, path: Path): string {
  return folderOf(originAt(tree, path));
}

function folderOf(origin: Origin): string {
  return origin.kind === "file" ? dirname(origin.file) : process.cwd();
}

/**
 * A path as seen from the working directory. Relative ones are relative to `folderAt`; in included files to the working
 * directory; in the recipe of a run, which has been resolved before, to the one it was trained in (`projectOf`).
 */
export function seenFromHere(tree: MappingTree, path: Path, given: string): string {
  const folder = folderSeenFrom(originAt(tree, path), given);
  return resolve(folder) === process.cwd() ? given : showPath(resolve(folder, given));
}

function folderSeenFrom(origin: Origin, given: string): string {
  if (origin.kind !== "file" || isIncluded(origin.file)) return process.cwd();
  const folder = folderOf(origin);
  return isOfRun(folder) ? projectOf(folder, given) : folder;
}

/** The run whose recipe sets the value at a path; null: none does. */
export function runThatSets(tree: MappingTree, path: Path): string | null {
  const folder = folderAt(tree, path);
  return originAt(tree, path).kind === "file" && isOfRun(folder) ? folder : null;
}

/**
 * Runs do not record where they were trained, by default two folders above: the working directory if the run is in it,
 * otherwise the nearest folder above the run from which the path leads somewhere.
 */
export function projectOf(run: string, given: string): string {
  const above = foldersAbove(resolve(run));
  const here = process.cwd();
  const nearest = [...(above.includes(here) ? [here] : []), ...above];
  return nearest.find((folder) => isPresentSync(resolve(folder, given))) ?? here;
}

function foldersAbove(folder: string): readonly string[] {
  const parent = dirname(folder);
  return parent === folder ? [] : [parent, ...foldersAbove(parent)];
}

function isIncluded(file: string): boolean {
  return [shippedFolder, join(dirname(shippedFolder), "experiments")].some((folder) =>
    file.startsWith(folder + sep),
  );
}

function isOfRun(folder: string): boolean {
  const { metrics, evaluations, result, checkpoints } = layoutOf(folder);
  return [metrics, evaluations, result, checkpoints].some((record) => isPresentSync(record));
}

type Plain = Readonly<Record<string, unknown>>;

/** The recipe with the paths of models seen from the working directory (`seenFromHere`). */
export function withModelPlaces(plain: Plain, tree: MappingTree): Plain {
  const { policies } = plain;
  if (!isMapping(policies)) return plain;
  const found = Object.entries(policies).map(([name, policy]) => {
    if (!isMapping(policy) || !isMapping(policy["model"])) return [name, policy];
    const { path } = policy["model"];
    if (typeof path !== "string") return [name, policy];
    const at = ["policies", name, "model", "path"];
    return [name, { ...policy, model: { ...policy["model"], path: placed(tree, at, path) } }];
  });
  return { ...plain, policies: Object.fromEntries(found) as Plain };
}

/** @throws TroupeError `bad_run` if a path in a run's recipe leads to another model than the run's */
export async function checkModelsOfRun(
  { policies }: Pick<Recipe, "policies">,
  tree: MappingTree,
): Promise<void> {
  for (const [name, { model }] of Object.entries(policies)) {
    if (!("path" in model) || !isPresentSync(model.path)) continue;
    const run = runThatSets(tree, ["policies", name, "model", "path"]);
    if (run !== null) await checkModel(run, name, model.path);
  }
}

/** Names that mean something elsewhere stay as they are, for messages. */
function placed(tree: MappingTree, at: Path, path: string): string {
  if (isAddress(path)) return path;
  const place = seenFromHere(tree, at, path);
  return isHubName(path) && !isPresentSync(place) ? path : place;
}

/** `Qwen/Qwen2.5-0.5B-Instruct`, which may also be a folder. */
export function isHubName(path: string): boolean {
  return /^(?!models\/)\w[\w.-]*\/\w[\w.-]*$/.test(path);
}

export function isAddress(path: string): boolean {
  return /^[a-z][a-z+.-]*:\/\//i.test(path);
}

function isMapping(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The recipe with absolute paths: relative to the file that sets them, in overrides to the current directory. A server's
 * program runs in the folder of the file that sets its command.
 */
export function withToolPlaces(plain: Plain, tree: MappingTree): Plain {
  const team = inTeam(plain["team"], ["team"], tree);
  const { evaluation } = plain;
  if (!isMapping(evaluation) || !isMapping(evaluation["compare"]))
    return { ...plain, ...(isMapping(team) ? { team } : {}) };
  const compare = eachIn(evaluation["compare"], ["evaluation", "compare"], (one, path) =>
    inTeam(one, path, tree),
  );
  return { ...plain, ...(isMapping(team) ? { team } : {}), evaluation: { ...evaluation, compare } };
}

function inTeam(team: unknown, path: Path, tree: MappingTree): unknown {
  if (!isMapping(team) || !isMapping(team["roles"])) return team;
  const roles = eachIn(team["roles"], [...path, "roles"], (role, place) => inRole(role, place, tree));
  return { ...team, roles };
}

function inRole(role: unknown, path: Path, tree: MappingTree): unknown {
  if (!isMapping(role) || !Array.isArray(role["tools"])) return role;
  const tools = (role["tools"] as readonly unknown[]).map((tool, index) =>
    isMapping(tool) ? withPlaces(tool, [...path, "tools", index], tree) : tool,
  );
  return { ...role, tools };
}

function withPlaces(tool: Plain, path: Path, tree: MappingTree): Plain {
  const { index, command, folder } = tool;
  if (typeof index === "string")
    return { ...tool, index: resolve(folderAt(tree, [...path, "index"]), index) };
  if (command === undefined || (folder !== undefined && typeof folder !== "string")) return tool;
  const key = folder === undefined ? "command" : "folder";
  return { ...tool, folder: resolve(folderAt(tree, [...path, key]), folder ?? ".") };
}

function eachIn(mapping: Plain, path: Path, change: (value: unknown, path: Path) => unknown): Plain {
  return Object.fromEntries(
    Object.entries(mapping).map(([name, value]) => [name, change(value, [...path, name])]),
  );
}

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

/**
 * The recipe with an absolute path of the judge's folder: relative to the file that sets it, by default the folder of the
 * file that sets the option it belongs to. In overrides both are relative to the current directory.
 */
export function withJudgeFolder(
  plain: Plain,
  tree: MappingTree,
  judges: Readonly<Record<string, JudgeDefinition>>,
): Plain {
  const judge = plain["judge"] as Plain;
  const { folder } = judgeRow(judge, judges) ?? {};
  if (folder === undefined || judge[folder.of] === undefined) return plain;
  const given = judge[folder.option];
  if (given !== undefined && typeof given !== "string") return plain;
  const place = folderAt(tree, ["judge", given === undefined ? folder.of : folder.option]);
  return { ...plain, judge: { ...judge, [folder.option]: resolve(place, given ?? ".") } };
}
