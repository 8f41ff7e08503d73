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
    ...Object.entries(algorithms).map(([name, { summary, source, options }]) => [
      `### Options of the algorithm \`${name}\`\n\n${source}: ${summary}.`,
      optionTable(options),
    ]),
  ];
  return sections.map(([title, table]) => `${title}\n\n${table}\n`).join("\n");
}

function optionTable(options: unknown): string {
  return options instanceof ZodType ? keyTable(jsonSchemaOf(options)) : "Its own check; see its source.";
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
  if (schema.anyOf)
    return schema.anyOf.map((each) => `{ ${Object.keys(each.properties ?? {}).join()}: … }`).join(" or ");
  return schema.type === "object" ? "a mapping" : expectation(schema).replaceAll("|", "\\|");
}

function fallback({ default: value, type }: JsonSchema): string {
  if (value === undefined || (type === "object" && JSON.stringify(value) === "{}")) return "";
  return `\`${JSON.stringify(value)}\``;
}

if (import.meta.main) writeFileSync(manualFile, refreshed(readFileSync(manualFile, "utf8")));
