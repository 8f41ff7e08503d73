/**
 * The tables of docs/recipes.md, made from the schemas: every key with its type, default and meaning. A test compares
 * them with the page; `node src/recipes/manual.ts` writes them into it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZodType } from "zod";
import { builtInCatalog } from "./built-in.ts";
import { recipeShape } from "./resolve.ts";
import type { JsonSchema } from "./shape.ts";
import { expectation, jsonSchemaOf } from "./shape.ts";

export const manualFile = join(import.meta.dirname, "..", "..", "docs", "recipes.md");

const begin = "<!-- made by src/recipes/manual.ts -->";
const end = "<!-- end -->";

/** The page with its tables made anew. */
export function refreshed(page: string): string {
  const [before] = page.split(begin);
  const [, after] = page.split(end);
  if (before === undefined || after === undefined)
    throw new Error(`docs/recipes.md has no ${begin} … ${end}`);
  return `${before}${begin}\n\n${manual()}\n${end}${after}`;
}

function manual(): string {
  const { environments, algorithms } = builtInCatalog;
  const sections = [
    ["### Every key", keyTable(recipeShape())],
    ...Object.entries(environments).map(([name, { summary, options }]) => [
      `### Options of the environment \`${name}\`\n\n${summary}`,
      optionTable(options),
    ]),
    ["### Algorithms", algorithmTable(algorithms)],
    ["### Options of algorithms", algorithmOptions(algorithms)],
  ];
  return sections.map(([title, table]) => `${title}\n\n${table}\n`).join("\n");
}

function optionTable(options: unknown): string {
  return options instanceof ZodType ? keyTable(jsonSchemaOf(options)) : "Its own check; see its source.";
}

type Algorithms = typeof builtInCatalog.algorithms;

function algorithmTable(algorithms: Algorithms): string {
  const rows = Object.entries(algorithms).map(
    ([name, { summary, source }]) => `| \`${name}\` | ${summary} | ${source} |`,
  );
  return ["| name | what it does | source |", "|---|---|---|", ...rows].join("\n");
}

/** One table for all of them: an option that several rows share stands in it once, with the defaults that differ. */
function algorithmOptions(algorithms: Algorithms): string {
  const all = Object.entries(algorithms).flatMap(([name, { options }]) =>
    rowsOf(jsonSchemaOf(options), "").map((row) => ({ name, row })),
  );
  const shared = Map.groupBy(all, ({ row: [key, value, , meaning] }) => [key, value, meaning].join("|"));
  const byKey = [...shared.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const rows = byKey.map((members) => {
    const [key, value, , meaning] = members[0]?.row ?? [];
    const names = members.map(({ name }) => name);
    const of = names.length === Object.keys(algorithms).length ? "all" : names.join(", ");
    return `| ${[key, value, defaultsOf(members), of, meaning].join(" | ")} |`;
  });
  return ["| key | value | default | of | meaning |", "|---|---|---|---|---|", ...rows].join("\n");
}

type Shared = readonly { readonly name: string; readonly row: Row }[];

/** Without the closing quote: `kl` stands before `kl.where`. */
function keyOf(members: Shared): string {
  return members[0]?.row[0].slice(1, -1) ?? "";
}

/** "`8`", or "`0.2`; gspo: `0.0003`": the commonest default, then the others with their rows. */
function defaultsOf(members: Shared): string {
  const byDefault = [...Map.groupBy(members, ({ row }) => row[2])];
  const [commonest, ...others] = byDefault.toSorted(([, a], [, b]) => b.length - a.length);
  const exceptions = others.map(([value, rows]) => `${rows.map(({ name }) => name).join(", ")}: ${value}`);
  return [commonest?.[0] ?? "", ...exceptions].join("; ");
}

function keyTable(schema: JsonSchema): string {
  const rows = rowsOf(schema, "").map((cells) => `| ${cells.join(" | ")} |`);
  return ["| key | value | default | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

type Row = readonly [key: string, value: string, fallback: string, meaning: string];

function rowsOf(schema: JsonSchema, prefix: string): Row[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = `${prefix}${name}`;
    const isRequired = schema.required?.includes(name) ?? false;
    return [rowOf(key, inner, isRequired), ...nestedRows(key, inner)];
  });
}

/** A mapping of mappings (`policies`) shows what stands below each of its names. */
function nestedRows(key: string, schema: JsonSchema): Row[] {
  // A team of `evaluation.compare` is described where the trained team is.
  if (key === "evaluation.compare") return [];
  const below = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
  const named = below?.properties === undefined ? [] : rowsOf(below, `${key}.NAME.`);
  return [...rowsOf(schema, `${key}.`), ...named];
}

function rowOf(key: string, schema: JsonSchema, isRequired: boolean): Row {
  const meaning = (schema.description ?? "").replaceAll("|", "\\|");
  return [`\`${key}\``, valueOf(schema), isRequired ? "required" : fallback(schema), meaning];
}

function valueOf(schema: JsonSchema): string {
  if (schema.anyOf?.every(({ properties }) => properties !== undefined) === true)
    return schema.anyOf.map((each) => `{ ${Object.keys(each.properties ?? {}).join()}: … }`).join(" or ");
  return schema.type === "object" ? "a mapping" : expectation(schema).replaceAll("|", "\\|");
}

function fallback({ default: value, type }: JsonSchema): string {
  if (value === undefined || (type === "object" && JSON.stringify(value) === "{}")) return "";
  return `\`${JSON.stringify(value)}\``;
}

if (import.meta.main) writeFileSync(manualFile, refreshed(readFileSync(manualFile, "utf8")));
