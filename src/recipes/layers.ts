/** Merges the layers of a recipe: a file over those that it extends, then overrides `key.path=value`, whose values are YAML. */
import { RecipeError, type Mistake } from "./mistakes.ts";
import {
  mergeTrees,
  treeAt,
  showKey,
  type MappingTree,
  type Path,
  type Tree,
  type Origin,
  type SequenceTree,
} from "./tree.ts";
import { parseYaml } from "./yaml.ts";

export function mergeLayers(base: Tree, over: Tree): Tree {
  return mergeTrees(withoutReplaced(base, over), over);
}

const nameOrModule = [["name"], ["module", "export", "moduleHash"]] as const;

/** Groups of exclusive keys: a key that selects the group, and keys that only apply with it. */
const exclusive: readonly { readonly at: Path; readonly groups: readonly (readonly string[])[] }[] = [
  { at: ["environment"], groups: nameOrModule },
  { at: ["algorithm"], groups: nameOrModule },
  { at: ["engine"], groups: [["type"], ["module", "export", "moduleHash"]] },
  { at: ["policies", "*", "model"], groups: [["preset"], ["path"]] },
];

/** The lower layers without the groups that the higher layer replaces by another. */
export function withoutReplaced(base: Tree, over: Tree, path: Path = []): Tree {
  if (base.kind !== "mapping" || over.kind !== "mapping") return base;
  const entries = new Map(base.entries);
  for (const [key, { value }] of over.entries) {
    const below = entries.get(key);
    if (below) entries.set(key, { ...below, value: withoutReplaced(below.value, value, [...path, key]) });
  }
  for (const key of replacedBy(over, path)) {
    const below = entries.get(key);
    const { origin } = over;
    const value = { kind: "scalar", origin, value: null, takesBack: true } as const;
    if (below) entries.set(key, { ...below, value });
  }
  return { ...base, entries };
}

function replacedBy(over: MappingTree, path: Path): readonly string[] {
  const groups = exclusive.find(({ at }) => isAt(path, at))?.groups ?? [];
  const chosen = groups.filter(([choice = ""]) => isGiven(treeAt(over, [choice])));
  return chosen.length === 0 ? [] : groups.filter((group) => !chosen.includes(group)).flat();
}

function isAt(path: Path, pattern: Path): boolean {
  return (
    path.length === pattern.length && pattern.every((part, index) => part === "*" || part === path[index])
  );
}

function isGiven(tree: Tree | undefined): boolean {
  return tree !== undefined && !(tree.kind === "scalar" && tree.value === null);
}

/** Applies the overrides in order. @throws RecipeError listing every unreadable override */
export function applyOverrides(tree: MappingTree, overrides: readonly string[]): MappingTree {
  const mistakes: Mistake[] = [];
  let result: Tree = tree;
  for (const text of overrides) {
    try {
      result = applyYaml(result, readOverride(text));
    } catch (error) {
      if (!(error instanceof RecipeError)) throw error;
      mistakes.push(...error.mistakes);
    }
  }
  if (mistakes.length > 0) throw new RecipeError(mistakes);
  return result as MappingTree;
}

/** As deep as a recipe may be. */
const longestPath = 64;

/** `key.path=value` as written. */
export interface Override {
  readonly origin: Origin;
  readonly path: readonly string[];
  readonly value: string;
}

/** @throws RecipeError if it is not `key.path=value` */
export function readOverride(text: string): Override {
  const origin: Origin = { kind: "override", text };
  const equals = text.indexOf("=");
  const reject = (key: string, problem: string, fix?: string): never => {
    throw new RecipeError([{ origin, key, problem, ...(fix === undefined ? {} : { fix }) }]);
  };
  if (equals < 0) return reject("", "expected key.path=value, found no `=`", missingEqualsFix(text));
  const key = text.slice(0, equals);
  const path = key.split(".");
  if (/^[+~-]/.test(key)) return reject("", `\`${key}\` is not a key`, prefixFix(key, text));
  if (path.some((part) => part === "" || part !== part.trim())) {
    return reject("", `\`${key}\` is not a key`, "write key.path=value without spaces or empty parts");
  }
  if (path.length > longestPath) return reject("", "the key has too many parts for a recipe");
  const value = text.slice(equals + 1);
  if (value.trim() === "") {
    return reject(
      key,
      "no value after `=`",
      `write ${key}='""' for an empty string, ${key}=null for the default`,
    );
  }
  return { origin, path, value };
}

/** Applies an override whose value is YAML. */
export function applyYaml(tree: Tree, { origin, path, value }: Override): Tree {
  return applyValue(
    tree,
    path,
    parseYaml(value, () => origin),
    origin,
  );
}

/** The tree with the value at the path. @throws RecipeError if a list on the path has no such item */
export function applyValue(tree: Tree, path: readonly string[], value: Tree, origin: Origin): Tree {
  return put(withoutReplaced(tree, nested(path, value)), path, value, { origin, path });
}

/** The value as a layer. */
function nested(path: readonly string[], value: Tree): Tree {
  return path.reduceRight<Tree>((inner, key) => {
    const entry = { keyOrigin: inner.origin, value: inner };
    return { kind: "mapping", origin: inner.origin, entries: new Map([[key, entry]]) };
  }, value);
}

interface Place {
  readonly origin: Origin;
  readonly path: readonly string[];
}

/** The tree with `value` at `path`; missing mappings on the path are created. */
function put(tree: Tree | undefined, path: readonly string[], value: Tree, place: Place): Tree {
  const [head, ...rest] = path;
  if (head === undefined) return tree === undefined ? value : mergeTrees(tree, value);
  if (tree?.kind === "sequence") return putItem(tree, head, rest, value, place);
  const base: MappingTree =
    tree?.kind === "mapping" ? tree : { kind: "mapping", origin: place.origin, entries: new Map() };
  const child = put(base.entries.get(head)?.value, rest, value, place);
  const entries = new Map(base.entries).set(head, { keyOrigin: place.origin, value: child });
  return { ...base, entries };
}

function putItem(
  tree: SequenceTree,
  head: string,
  rest: readonly string[],
  value: Tree,
  place: Place,
): SequenceTree {
  const index = Number(head);
  if (!/^\d+$/.test(head) || index >= tree.items.length) {
    const key = showKey(place.path.slice(0, place.path.length - rest.length - 1));
    const problem = `\`${head}\` is not an item of the list ${key}, which has ${tree.items.length}`;
    const fix = `replace the whole list: ${key}=[…]`;
    throw new RecipeError([{ origin: place.origin, key: showKey(place.path), problem, fix }]);
  }
  const items = tree.items.with(index, put(tree.items[index], rest, value, place));
  return { ...tree, origin: place.origin, items };
}

function missingEqualsFix(text: string): string {
  if (/\.ya?ml$/.test(text)) return "name the recipe first, before its overrides";
  const colon = /^([\w.-]+):\s*(.*)$/.exec(text);
  if (colon) return `write ${colon[1]}=${colon[2] === "" ? "…" : colon[2]}`;
  return `write ${text}=…, without spaces around \`=\``;
}

/** Grammars of other systems: `+key=` adds, `~key` removes, `--key=` is an option. */
function prefixFix(key: string, text: string): string {
  const bare = key.replace(/^[+~-]+/, "");
  if (key.startsWith("~")) return `write ${bare}=null to remove a key`;
  return `write ${bare}${text.slice(key.length)}`;
}
