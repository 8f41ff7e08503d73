/** The folder among a judge's options. */
import { resolve } from "node:path";
import type { JudgeDefinition } from "../judges/judge.ts";
import { judgeRow } from "./judge-row.ts";
import { folderAt } from "./places.ts";
import type { MappingTree } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

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
