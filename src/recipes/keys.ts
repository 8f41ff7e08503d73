/** Every key of a recipe with its type, default and meaning, from the schemas. `troupe recipes --keys` prints them. */
import { ZodType } from "zod";
import { toolKinds } from "../tools/settings.ts";
import { builtInCatalog } from "./catalog.ts";
import { recipeShape } from "./resolve.ts";
import { jsonSchemaOf, type JsonSchema } from "./shape.ts";

/** Of a recipe itself, or the options of something that it names. */
export interface KeySection {
  /** What `--keys` calls it: `recipe`, `sudoku`, `at-grpo`. */
  readonly name: string;
  readonly title: string;
  readonly rows: readonly KeyRow[];
}

export function keySections(): readonly KeySection[] {
  const { environments, algorithms, judges } = builtInCatalog;
  return [
    { name: "recipe", title: "a recipe", rows: grouped(rowsOf(recipeShape(), "")) },
    ...optionSections("environment", environments),
    ...optionSections("algorithm", algorithms),
    ...optionSections("judge", judges),
    ...Object.entries(toolKinds).map(([title, schema]) => {
      const words = title.replaceAll("`", "");
      // Of a tool with two forms: `mcp` and `mcp-address`.
      const name = words.replace(", a program", "").replace(", an ", "-");
      return { name, title: `tool ${words}`, rows: keyRows(schema) };
    }),
  ];
}

function optionSections(kind: string, known: Readonly<Record<string, Optional>>): KeySection[] {
  return Object.entries(known).map(([name, { summary = "", options }]) => ({
    name,
    title: `${kind} ${name}: ${summary}`,
    rows: options instanceof ZodType ? keyRows(options) : [],
  }));
}

interface Optional {
  readonly summary?: string;
  readonly options: unknown;
}

/** The optimizer's keys are the same in every stage. */
function grouped(rows: readonly KeyRow[]): readonly KeyRow[] {
  const same = Map.groupBy(rows, ({ key, ...rest }) => JSON.stringify([lastPart(key), rest]));
  return [...same.values()].flatMap((members) => {
    const [first] = members;
    return first === undefined ? [] : [{ ...first, key: members.map(({ key }) => key).join(", ") }];
  });
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

export interface KeyRow {
  /** `train.steps`; NAME stands for a name of the user's choice. */
  readonly key: string;
  /** `integer ≥ 1` */
  readonly value: string;
  /** As JSON; `required`; empty: absent unless it is given. */
  readonly fallback: string;
  readonly meaning: string;
}

export function keyRows(schema: ZodType): readonly KeyRow[] {
  return rowsOf(jsonSchemaOf(schema), "");
}

function rowsOf(schema: JsonSchema, prefix: string): KeyRow[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const nested = nestedRows(key, inner);
    return [...(isTitleOnly(inner, isRequired, nested) ? [] : [rowOf(key, inner, isRequired)]), ...nested];
  });
}

/** A mapping that is always present adds nothing to its keys. */
function isTitleOnly(schema: JsonSchema, isRequired: boolean, nested: readonly KeyRow[]): boolean {
  return nested.length > 0 && (isRequired || schema.default !== undefined);
}

/** For a mapping of mappings (`policies`): the keys below each name. */
function nestedRows(key: string, schema: JsonSchema): KeyRow[] {
  // A team under `evaluation.compare` has the keys of the trained team.
  if (key === "evaluation.compare") return [];
  const below = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  const named = below?.properties === undefined ? [] : rowsOf(below, `${key}.NAME.`);
  // Each type of engine has its keys, and so has a module.
  const typed = (schema.anyOf ?? []).filter(
    ({ properties }) => (properties?.["type"] ?? properties?.["module"]) !== undefined,
  );
  return [...rowsOf(schema, `${key}.`), ...named, ...typed.flatMap((branch) => rowsOf(branch, `${key}.`))];
}

function rowOf(key: string, schema: JsonSchema, isRequired: boolean): KeyRow {
  const meaning = schema.description ?? "";
  return { key, value: valueOf(schema), fallback: isRequired ? "required" : fallback(schema), meaning };
}

/** A short type: "integer ≥ 1", "a | b", "list of text". */
function valueOf(schema: JsonSchema): string {
  const { type, anyOf, enum: choices, const: only, items } = schema;
  if (anyOf?.every(({ properties }) => properties !== undefined) === true)
    return anyOf.map((each) => `{ ${Object.keys(each.properties ?? {}).join()}: … }`).join(" or ");
  if (anyOf) return [...new Set(anyOf.map(valueOf))].join(" or ");
  if (choices) return choices.map(String).join(" | ");
  if (only !== undefined) return JSON.stringify(only);
  if (type === "array") return `list of ${items?.type === "array" ? "lists of names" : valueOf(items ?? {})}`;
  const named = schema.properties?.["name"]?.const;
  if (type === "object") return named === undefined ? "mapping" : `{ name: ${named as string} }`;
  return `${type === "string" ? "text" : (type ?? "any")}${range(schema)}`;
}

/** " ≥ 1", " > 0, < 1", " 0 to 1". The implicit bounds of safe integers are omitted. */
function range({ minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below }: JsonSchema): string {
  const least = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (least !== undefined && most !== undefined) return ` ${least} to ${most}`;
  const bounds = Object.entries({ "≥": least, ">": above, "≤": most, "<": below });
  const given = bounds.filter(([, value]) => value !== undefined);
  return given.length === 0 ? "" : ` ${given.map(([sign, value]) => `${sign} ${value}`).join(", ")}`;
}

function fallback({ default: value, type }: JsonSchema): string {
  if (value === undefined || (type === "object" && JSON.stringify(value) === "{}")) return "";
  return JSON.stringify(value);
}
