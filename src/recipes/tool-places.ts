/** Resolves the paths of roles' tools. */
import { resolve } from "node:path";
import { folderAt } from "./places.ts";
import type { MappingTree, Path } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

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

function isMapping(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
