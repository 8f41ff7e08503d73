/**
 * The tables of docs/recipes.md, generated from the schemas: every key with its type, default and meaning. A test compares
 * them with the page; `node src/recipes/manual.ts` updates it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZodType } from "zod";
import { toolKinds } from "../tools/settings.ts";
import { builtInCatalog } from "./built-in.ts";
import { recipeShape } from "./resolve.ts";
import type { JsonSchema } from "./shape.ts";
import { jsonSchemaOf } from "./shape.ts";

export const manualFile = join(import.meta.dirname, "..", "..", "docs", "recipes.md");

const begin = "<!-- made by src/recipes/manual.ts -->";
const end = "<!-- end -->";

/** The page with updated tables. */
export function refreshed(page: string): string {
  const [before] = page.split(begin);
  const [, after] = page.split(end);
  if (before === undefined || after === undefined)
    throw new Error(`docs/recipes.md has no ${begin} … ${end}`);
  return `${before}${begin}\n\n${manual()}\n${end}${after}`;
}

function manual(): string {
  const { environments, algorithms, judges } = builtInCatalog;
  const sections = [
    ["### Every key", keyTable(recipeShape())],
    ...environmentSections(environments),
    ...Object.entries(toolKinds).map(([title, schema]) => [
      `### Options of the tool ${title}`,
      keyTable(jsonSchemaOf(schema)),
    ]),
    ["### Algorithms", algorithmTable(algorithms)],
    ["### Options of algorithms", algorithmOptions(algorithms)],
    ...Object.entries(judges).map(([name, { summary, options }]) => [
      `### Options of the judge \`${name}\`\n\n${summary}`,
      options instanceof ZodType ? keyTable(jsonSchemaOf(options)) : "",
    ]),
  ];
  return sections.map(([title, contents]) => `${title}\n\n${contents}\n`).join("\n");
}

type Environments = typeof builtInCatalog.environments;

/** Options shared by environments have their own table. */
function environmentSections(environments: Environments): string[][] {
  const options = Object.entries(environments).map(([name, { options: schema }]) => ({
    name,
    rows: schema instanceof ZodType ? rowsOf(jsonSchemaOf(schema), "") : [],
  }));
  const all = sharedRows(options);
  const common = all.filter((members) => members.length > 1);
  const isCommon = (row: Row) => common.some((members) => members.some((member) => member.row === row));
  return [
    ...options.map(({ name, rows }) => [
      `### Options of the environment \`${name}\`\n\n${environments[name]?.summary ?? ""}`,
      table(rows.filter((row) => !isCommon(row))),
    ]),
    ["### Options of several environments", sharedTable(common, Object.keys(environments))],
  ];
}

type Algorithms = typeof builtInCatalog.algorithms;

function algorithmTable(algorithms: Algorithms): string {
  const rows = Object.entries(algorithms).map(([name, { summary }]) => `| \`${name}\` | ${summary} |`);
  return ["| name | what it does |", "|---|---|", ...rows].join("\n");
}

/** One table for all algorithms: a shared option has one row, with the defaults that differ. */
function algorithmOptions(algorithms: Algorithms): string {
  const options = Object.entries(algorithms).map(([name, row]) => ({
    name,
    rows: rowsOf(jsonSchemaOf(row.options), ""),
  }));
  return sharedTable(sharedRows(options), Object.keys(algorithms));
}

type Shared = readonly { readonly name: string; readonly row: Row }[];

/** Rows that differ only in their default, by key. */
function sharedRows(options: readonly { readonly name: string; readonly rows: readonly Row[] }[]): Shared[] {
  const all = options.flatMap(({ name, rows }) => rows.map((row) => ({ name, row })));
  const shared = Map.groupBy(all, ({ row: [key, value, , meaning] }) => [key, value, meaning].join("|"));
  return [...shared.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

function sharedTable(shared: readonly Shared[], names: readonly string[]): string {
  const rows = shared.map((members) => {
    const [key, value, , meaning] = members[0]?.row ?? [];
    const of = ofRows(
      members.map(({ name }) => name),
      names,
    );
    return `| ${[key, value, defaultsOf(members), of, meaning].join(" | ")} |`;
  });
  return ["| key | value | default | of | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}

/** "all", "all but iac, maac", or the names, whichever is shortest. */
function ofRows(names: readonly string[], all: readonly string[]): string {
  const others = all.filter((name) => !names.includes(name));
  if (others.length === 0) return "all";
  return others.length < names.length ? `all but ${others.join(", ")}` : names.join(", ");
}

/** Without the closing quote: `kl` sorts before `kl.where`. */
function keyOf(members: Shared): string {
  return members[0]?.row[0].slice(1, -1) ?? "";
}

/** "`8`", or "`0.2`; gspo: `0.0003`": the most common default, then the others with their algorithms. */
function defaultsOf(members: Shared): string {
  const byDefault = [...Map.groupBy(members, ({ row }) => row[2])];
  const [commonest, ...others] = byDefault.toSorted(([, a], [, b]) => b.length - a.length);
  const exceptions = others.map(([value, rows]) => `${rows.map(({ name }) => name).join(", ")}: ${value}`);
  return [commonest?.[0] ?? "", ...exceptions].join("; ");
}

function keyTable(schema: JsonSchema): string {
  // The optimizer's keys are the same in every stage.
  const same = Map.groupBy(rowsOf(schema, ""), ([key, ...rest]) => [lastPart(key), ...rest].join("|"));
  const rows = [...same.values()].map((members) => {
    const [, ...rest] = members[0] as Row;
    return [members.map(([key]) => key).join(", "), ...rest];
  });
  return table(rows);
}

function table(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |`);
  return ["| key | value | default | meaning |", "|---|---|---|---|", ...lines].join("\n");
}

function lastPart(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

type Row = readonly [key: string, value: string, fallback: string, meaning: string];

function rowsOf(schema: JsonSchema, prefix: string): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    const nested = nestedRows(key, inner);
    return [...(isTitleOnly(inner, isRequired, nested) ? [] : [rowOf(key, inner, isRequired)]), ...nested];
  });
}

/** A mapping that is always present adds nothing to its keys. */
function isTitleOnly(schema: JsonSchema, isRequired: boolean, nested: readonly Row[]): boolean {
  return nested.length > 0 && (isRequired || schema.default !== undefined);
}

/** For a mapping of mappings (`policies`): the keys below each name. */
function nestedRows(key: string, schema: JsonSchema): Row[] {
  // A team under `evaluation.compare` has the keys of the trained team.
  if (key === "evaluation.compare") return [];
  const below = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  const named = below?.properties === undefined ? [] : rowsOf(below, `${key}.NAME.`);
  // Each type of engine has its keys.
  const typed = (schema.anyOf ?? []).filter(({ properties }) => properties?.["type"] !== undefined);
  return [...rowsOf(schema, `${key}.`), ...named, ...typed.flatMap((branch) => rowsOf(branch, `${key}.`))];
}

function rowOf(key: string, schema: JsonSchema, isRequired: boolean): Row {
  const meaning = (schema.description ?? "").replaceAll("|", "\\|");
  return [`\`${key}\``, valueOf(schema), isRequired ? "required" : fallback(schema), meaning];
}

/** A short type: "integer ≥ 1", "`a`, `b`", "list of text". */
function valueOf(schema: JsonSchema): string {
  const { type, anyOf, enum: choices, const: only, items } = schema;
  if (anyOf?.every(({ properties }) => properties !== undefined) === true)
    return anyOf.map((each) => `{ ${Object.keys(each.properties ?? {}).join()}: … }`).join(" or ");
  if (anyOf) return [...new Set(anyOf.map(valueOf))].join(" or ");
  if (choices) return choices.map((choice) => `\`${String(choice)}\``).join(", ");
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
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
  return `\`${JSON.stringify(value)}\``;
}

if (import.meta.main) writeFileSync(manualFile, refreshed(readFileSync(manualFile, "utf8")));
