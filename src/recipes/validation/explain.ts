/** Turns zod's issues into mistakes: where, what was found, what was expected, the nearest valid name. */
import type { z } from "zod";
import { nearestName } from "../../nearest.ts";
import { hintAt, type Mistake } from "../mistakes.ts";
import { expectation, keysOf, namesIn, schemaAt, type JsonSchema } from "../shape.ts";
import {
  shorten,
  keyOriginAt,
  originAt,
  plainOf,
  showKey,
  treeAt,
  type Path,
  type Tree,
  type MappingTree,
} from "../tree.ts";

type Issue = z.core.$ZodIssue;

/** The mistakes of a failed parse of the value at `base` in the tree. */
export function explain(
  issues: readonly Issue[],
  tree: Tree,
  schema: JsonSchema,
  base: Path = [],
): readonly Mistake[] {
  const context = { tree, schema, base };
  const misspelt = new Set(issues.flatMap((issue) => misspeltKeys(issue, context)));
  const distinct = issues.filter(({ path }) => !misspelt.has(JSON.stringify(path)));
  return distinct.flatMap((issue) => explainIssue(issue, context));
}

/** The paths of missing keys that unknown keys next to them are meant to be: one typing mistake, not two. */
function misspeltKeys(issue: Issue, { tree, schema, base }: Context): readonly string[] {
  if (issue.code !== "unrecognized_keys") return [];
  const inner = issue.path as Path;
  const known = keysOf(schemaAt(schema, inner));
  const meant = issue.keys.flatMap((key) => nearestName(key, known) ?? []);
  const missing = meant.filter((key) => treeAt(tree, [...base, ...inner, key]) === undefined);
  return missing.map((key) => JSON.stringify([...inner, key]));
}

interface Context {
  readonly tree: Tree;
  /** Relative to `base`. */
  readonly schema: JsonSchema;
  readonly base: Path;
}

function explainIssue(issue: Issue, context: Context): readonly Mistake[] {
  const inner = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
  const path = [...context.base, ...inner];
  const shape = schemaAt(context.schema, inner);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey([...path, key], shape, context.tree));
    case "invalid_union":
      return explainUnion(issue, path, shape, context);
    case "invalid_key": {
      const problem = `\`${shorten(String(path.at(-1)), 40)}\` is not ${issue.issues[0]?.message ?? "a name"}`;
      return [{ origin: keyOriginAt(context.tree, path), key: showKey(path), problem }];
    }
    default: {
      const mistake = wrongValue(issue, path, shape, context.tree);
      const fix = mistake.fix ?? otherName(inner, path, context);
      return [{ ...mistake, ...(fix === undefined ? {} : { fix }) }];
    }
  }
}

/** For a missing key under a misspelt name: `team.roles.scot` next to `scout`. */
function otherName(inner: Path, path: Path, { schema, tree }: Context): string | undefined {
  const name = path.at(-2);
  const isNamedFreely = inner.length > 1 && keysOf(schemaAt(schema, inner.slice(0, -2))).length === 0;
  if (typeof name !== "string" || !isNamedFreely || treeAt(tree, path) !== undefined) return undefined;
  const others = givenKeys(treeAt(tree, path.slice(0, -2))).filter((other) => other !== name);
  const nearest = nearestName(name, others);
  return nearest === undefined ? undefined : `or did you mean \`${nearest}\` by \`${name}\`?`;
}

/** The branch of a union with the given name, or that most of the given keys belong to, or a description of the whole union. */
function explainUnion(
  issue: Extract<Issue, { code: "invalid_union" }>,
  path: Path,
  shape: JsonSchema | undefined,
  context: Context,
): readonly Mistake[] {
  const found = treeAt(context.tree, path);
  const given = givenKeys(found);
  const branches = shape?.anyOf ?? [];
  const nameKey = nameKeyOf(branches);
  const wrongName = unknownName(issue, [...path, nameKey], branches, context.tree);
  if (wrongName !== undefined) return [wrongName];
  const name = valueAt(context.tree, [...path, nameKey]);
  const isNamed = branches.map(
    (each) => name !== undefined && namesAt(nameKey, [each]).some((own) => own === name),
  );
  const shared = branches.map((each, index) =>
    isNamed.includes(true) && isNamed[index] !== true
      ? 0
      : keysOf(each).filter((key) => given.includes(key)).length,
  );
  const most = Math.max(...shared);
  const issues = most > 0 ? issue.errors[shared.indexOf(most)] : undefined;
  if (shape !== undefined && issues !== undefined) return explain(issues, context.tree, shape, path);
  return [wrongValue(issue, path, shape, context.tree)];
}

/** @param place the key that tells the mappings apart */
function unknownName(
  issue: Issue,
  place: Path,
  branches: readonly JsonSchema[],
  tree: Tree,
): Mistake | undefined {
  const name = valueAt(tree, place);
  const names = namesAt(String(place.at(-1)), branches);
  if (name === undefined || names.length < 2 || names.some((known) => known === name)) return undefined;
  return wrongValue(issue, place, { enum: names }, tree);
}

/** The key that tells mappings apart: `name`, of engines `type`. */
function nameKeyOf(branches: readonly JsonSchema[]): string {
  return namesAt("name", branches).length === 0 ? "type" : "name";
}

function namesAt(key: string, branches: readonly JsonSchema[]): readonly string[] {
  return namesIn(branches.flatMap(({ properties }) => properties?.[key] ?? []));
}

function valueAt(tree: Tree, path: Path): unknown {
  const found = treeAt(tree, path);
  return found === undefined ? undefined : plainOf(found);
}

/** @param parent of the mapping that contains the key; if any name is valid, its siblings are suggested */
export function unknownKey(path: Path, parent: JsonSchema | undefined, tree: Tree): Mistake {
  const key = String(path.at(-1));
  const known = keysOf(parent);
  if (known.includes(key)) return oneOfTwo(path, parent, tree);
  const valid = known.length > 0 ? known : givenKeys(treeAt(tree, path.slice(0, -1)));
  const where = path.length === 1 ? (parent?.title ?? "a recipe") : `\`${showKey(path.slice(0, -1))}\``;
  const origin = keyOriginAt(tree, path);
  const nearest = missingSpace(key) ?? hintAt(key, valid);
  const isInherited = nearest === "" && origin.kind === "file" && (origin.extended ?? 0) > 0;
  const problem = isInherited ? "inherited, but unknown here" : "unknown key";
  const advice = isInherited ? `remove it with \`${showKey(path)}=null\`. ` : nearest;
  const keys = `of ${where}: ${valid.length === 0 ? "none" : valid.join(", ")}`;
  const fix = advice === "" ? `keys ${keys}` : `${advice}Keys ${keys}`;
  return { origin, key: showKey(path), problem, fix };
}

/** `{path:/x}` is one key for YAML. */
function missingSpace(key: string): string | undefined {
  const colon = /^([\w-]+):(?=\S)(.*)$/.exec(key);
  return colon === null ? undefined : `write a space after the colon: \`${colon[1]}: ${colon[2]}\`. `;
}

function givenKeys(tree: Tree | undefined): readonly string[] {
  return tree?.kind === "mapping" ? Object.keys(plainOf(tree) as object) : [];
}

/** Keys of different branches of a union: `preset` and `path` of a model; an engine's settings without its `type`. */
function oneOfTwo(path: Path, shape: JsonSchema | undefined, tree: Tree): Mistake {
  const parent = path.slice(0, -1);
  const type = valueAt(tree, [...parent, "type"]);
  if (typeof type === "string") {
    const problem = `is not a setting of \`type: ${shorten(type, 40)}\``;
    const fix = `remove it with ${showKey(path)}=null, or give the whole of \`${showKey(parent)}\` anew: ${showKey(parent)}=null, then its settings`;
    return { origin: keyOriginAt(tree, path), key: showKey(path), problem, fix };
  }
  const others = keysOf(shape).filter(
    (key) => key !== path.at(-1) && treeAt(tree, [...parent, key]) !== undefined,
  );
  const branches = (shape?.anyOf ?? []).filter((each) => keysOf(each).includes(String(path.at(-1))));
  const [needed, ...more] = namesAt("type", branches);
  if (type === undefined && needed !== undefined && others.length === 0) {
    const problem = `is a setting of ${[needed, ...more].map((each) => `\`type: ${each}\``).join(" and ")}`;
    const fix = `add ${showKey([...parent, "type"])}=${needed}`;
    return { origin: keyOriginAt(tree, path), key: showKey(path), problem, fix };
  }
  const problem = `cannot be combined with ${others.map((key) => `\`${key}\``).join(", ")}`;
  const fix = `remove one, as with ${showKey([...parent, others[0] ?? ""])}=null`;
  return { origin: keyOriginAt(tree, path), key: showKey(path), problem, fix };
}

function wrongValue(issue: Issue, path: Path, shape: JsonSchema | undefined, tree: Tree): Mistake {
  const origin = originAt(tree, path);
  const expected = expectedBy(issue, shape);
  const found = treeAt(tree, path);
  if (found === undefined || (found.kind === "scalar" && found.value === null)) {
    return { origin, key: showKey(path), problem: `missing; expected ${expected}` };
  }
  // What a mapping lacks is said of the mapping.
  if (issue.code === "custom" && issue.message.startsWith("needs "))
    return { origin, key: showKey(path), problem: issue.message };
  const value = plainOf(found);
  const reason = issue.code === "too_small" ? shape?.$comment : undefined;
  const fix = issue.code === "custom" ? undefined : (reason ?? hint(value, shape));
  const problem = `expected ${expected}, found ${show(value)}`;
  return { origin, key: showKey(path), problem, ...(fix === undefined ? {} : { fix }) };
}

function expectedBy(issue: Issue, shape: JsonSchema | undefined): string {
  if (issue.code === "invalid_format") return formatOf(issue);
  if (issue.code === "custom") return issue.message === "Invalid input" ? "another value" : issue.message;
  return shape === undefined ? issue.message : expectation(shape);
}

/** As the schema says it, or in place of zod's own words. */
function formatOf({ message, format, pattern }: Extract<Issue, { code: "invalid_format" }>): string {
  if (!message.startsWith("Invalid ")) return message.replace(/^expected /, "");
  return pattern === undefined ? `text in the format \`${format}\`` : `text that matches ${pattern}`;
}

function show(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "a mapping";
  return shorten(typeof value === "string" ? JSON.stringify(value) : String(value), 60);
}

const otherSpellings: Readonly<Record<string, string>> = {
  yes: "true",
  on: "true",
  no: "false",
  off: "false",
  none: "null",
  nil: "null",
  undefined: "null",
};

/** A path or a source file is not a name. */
function nameOrModule(value: string): string {
  return /[/\\]|\.[cm]?[jt]s$/.test(value) ? "module" : "name";
}

/** NVIDIA's and Apple's. */
const gpuNames: ReadonlySet<string> = new Set(["cuda", "mps"]);

/** Suggestions for other notations: Python's None, `1_000`, a nearly right name. */
function hint(value: unknown, shape: JsonSchema | undefined): string | undefined {
  if (typeof value !== "string") return undefined;
  if (shape?.properties?.["module"] !== undefined) return `write { ${nameOrModule(value)}: ${value} }`;
  const gpus =
    value.trim().toLowerCase() === "gpu" ? namesIn([shape ?? {}]).filter((name) => gpuNames.has(name)) : [];
  if (gpus.length > 0) return `write ${gpus.join(" or ")}`;
  const spelling = otherSpellings[value.trim().toLowerCase()];
  if (spelling === "null") return "write null for the default";
  if (spelling !== undefined && shape?.type === "boolean") return `write ${spelling}`;
  const digits = value.replaceAll(/[_,\s]/g, "");
  const number = digits === "" ? NaN : Number(digits);
  if ((shape?.type === "integer" || shape?.type === "number") && Number.isFinite(number)) {
    return `write ${number} without quotes or separators`;
  }
  const names = shape === undefined ? [] : namesIn([shape]);
  if (names.includes(value)) return `write { name: ${value}, … }`;
  const nearest = nearestName(value, names);
  return nearest === undefined ? undefined : `did you mean ${nearest}?`;
}

/** Reports what would otherwise be ignored silently: `{path:/models/mine}` is the key `path:/models/mine` with null. */
export function strayNulls(tree: MappingTree, schema: JsonSchema): readonly Mistake[] {
  return strayPaths(tree, schema).map((path) => unknownKey(path, schemaAt(schema, path.slice(0, -1)), tree));
}

function strayPaths(tree: MappingTree, schema: JsonSchema): readonly Path[] {
  if (!saysSomething(schema)) return [];
  const known = keysOf(schema);
  return [...tree.entries].flatMap(([key, { value }]): readonly Path[] => {
    if (isStray(value)) return known.includes(key) ? [] : [[key]];
    const inner = schemaAt(schema, [key]);
    if (value.kind !== "mapping" || inner === undefined) return [];
    return strayPaths(value, inner).map((path) => [key, ...path]);
  });
}

function isStray(value: Tree): boolean {
  return value.kind === "scalar" && value.value === null && value.takesBack !== true;
}

/** Options of an unknown environment: their keys are unknown too. */
function saysSomething(schema: JsonSchema): boolean {
  return keysOf(schema).length > 0 || typeof schema.additionalProperties === "object";
}
