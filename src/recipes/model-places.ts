/** Resolves the paths of policies' model directories. */
import { existsSync } from "node:fs";
import { dirname, resolve, sep } from "node:path";
import { layoutOf } from "../runs/layout.ts";
import { showPath } from "./origin.ts";
import { shippedFolder } from "./shipped.ts";
import type { MappingTree } from "./tree.ts";
import { originAt } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

/**
 * The recipe with the paths of models seen from the working directory. They are relative to the file that sets them; in
 * overrides, in included recipes and in the recipe of a run, which has been resolved before, to the working directory.
 */
export function withModelPlaces(plain: Plain, tree: MappingTree): Plain {
  const { policies } = plain;
  if (!isMapping(policies)) return plain;
  const placed = Object.entries(policies).map(([name, policy]) => {
    if (!isMapping(policy) || !isMapping(policy["model"])) return [name, policy];
    const { path } = policy["model"];
    if (typeof path !== "string") return [name, policy];
    const folder = folderOf(tree, name);
    return [name, { ...policy, model: { ...policy["model"], path: placedIn(folder, path) } }];
  });
  return { ...plain, policies: Object.fromEntries(placed) as Plain };
}

/** Names that mean something elsewhere stay as they are, for messages. */
function placedIn(folder: string, path: string): string {
  if (resolve(folder) === process.cwd() || isAddress(path)) return path;
  const place = resolve(folder, path);
  return isHubName(path) && !existsSync(place) ? path : showPath(place);
}

function folderOf(tree: MappingTree, policy: string): string {
  const origin = originAt(tree, ["policies", policy, "model", "path"]);
  if (origin.kind !== "file") return ".";
  const isOurs = origin.file.startsWith(shippedFolder + sep) || isOfRun(dirname(origin.file));
  return isOurs ? "." : dirname(origin.file);
}

function isOfRun(folder: string): boolean {
  const { metrics, evaluations, result, checkpoints } = layoutOf(folder);
  return [metrics, evaluations, result, checkpoints].some((record) => existsSync(record));
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
