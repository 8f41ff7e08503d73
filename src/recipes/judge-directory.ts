/** Where a judge's program runs. */
import { dirname, resolve } from "node:path";
import type { MappingTree } from "./tree.ts";
import { originAt, treeAt } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

/**
 * The recipe with the whole path of the judge's working directory: as seen from the file that says it, or the folder of the
 * file that says what is run. Of an override both are seen from here.
 */
export function withJudgeDirectory(plain: Plain, tree: MappingTree): Plain {
  const judge = plain["judge"];
  if (typeof judge !== "object" || judge === null || !("run" in judge)) return plain;
  const given = "directory" in judge ? judge.directory : undefined;
  if (given !== undefined && typeof given !== "string") return plain;
  const folder = folderOf(tree, given === undefined ? "run" : "directory");
  return { ...plain, judge: { ...judge, directory: resolve(folder, given ?? ".") } };
}

function folderOf(tree: MappingTree, key: string): string {
  const path = ["judge", key];
  const origin = originAt(tree, treeAt(tree, path) === undefined ? ["judge"] : path);
  return origin.kind === "file" ? dirname(origin.file) : process.cwd();
}
