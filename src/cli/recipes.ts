/** `troupe recipes`: the recipes that come with Troupe, by environment, and the JSON Schema of any recipe. */
import { posix } from "node:path";
import { Command } from "commander";
import { z } from "zod";
import { environments } from "../environments/registry.ts";
import { TroupeError } from "../errors.ts";
import { shippedExperiments } from "../experiments/shipped.ts";
import { loadTree } from "../recipes/load.ts";
import { showPath } from "../recipes/origin.ts";
import { recipeShape } from "../recipes/resolve.ts";
import { shippedRecipes } from "../recipes/shipped.ts";
import { plainOf } from "../recipes/tree.ts";
import { showShare } from "./format.ts";
import { commandName, printJson, printLines } from "./print.ts";
import { tableLines, wrapped } from "./table.ts";

/** The part of a recipe that the list shows; a recipe that is wrong elsewhere is listed all the same. */
const shown = z.object({
  description: z.string().default(""),
  environment: z.object({ name: z.string() }),
  algorithm: z.object({ name: z.string() }),
  policies: z.record(z.string(), z.object({ adapter: z.object({}).optional() })),
  train: z.object({ steps: z.number() }),
  expected: z.object({ minutes: z.number().optional(), success: z.number().optional() }).default({}),
});

interface Listed {
  readonly name: string;
  readonly file: string;
  readonly environment: string;
  readonly description: string;
  /** null: nothing is reinforced. */
  readonly algorithm: string | null;
  readonly policies: string;
  /** As measured on two cores; null: not measured. */
  readonly minutes: number | null;
  readonly success: number | null;
}

export function recipesCommand(): Command {
  return new Command("recipes")
    .description("list the recipes that come with Troupe")
    .option("--schema", "print the JSON Schema of recipes, for an editor's completion")
    .option("--json", "print one JSON document")
    .action((options: { schema?: boolean; json?: boolean }) => {
      if (options.schema) return printJson(recipeShape());
      const recipes = Object.entries(shippedRecipes()).map(([name, file]) => describe(name, file));
      return options.json
        ? printJson(recipes)
        : printLines(listLines(recipes, process.stdout.columns ?? 120));
    });
}

function describe(name: string, file: string): Listed {
  const recipe = read(file);
  const common = { name, file: showPath(file) };
  if (recipe === undefined) {
    const nothing = {
      environment: "",
      description: `cannot be read; \`${commandName()} train ${name} --dry-run\` says why`,
    };
    return { ...common, ...nothing, algorithm: null, policies: "", minutes: null, success: null };
  }
  const { description, environment, algorithm, policies, train, expected } = recipe;
  return {
    ...common,
    environment: environment.name,
    description,
    algorithm: train.steps > 0 ? algorithm.name : null,
    policies: sharing(Object.values(policies)),
    minutes: expected.minutes ?? null,
    success: expected.success ?? null,
  };
}

/** With what it extends; undefined: a listing must not fail because one recipe is wrong. */
function read(file: string): z.output<typeof shown> | undefined {
  try {
    return shown.safeParse(plainOf(loadTree(file))).data;
  } catch (error) {
    if (error instanceof TroupeError) return undefined;
    throw error;
  }
}

function sharing(policies: readonly { readonly adapter?: object | undefined }[]): string {
  const adapters = policies.filter(({ adapter }) => adapter !== undefined).length;
  if (policies.length === 1) return adapters === 1 ? "1 adapter" : "1 model";
  if (adapters === 0) return `${policies.length} models`;
  return adapters === policies.length
    ? `${adapters} adapters`
    : `${adapters} adapters, ${policies.length - adapters} models`;
}

/** One table in which each environment's recipes stand below its name, and one for each folder of recipes. */
function listLines(recipes: readonly Listed[], width: number): string[] {
  const { ".": main = [], ...folders } = Object.groupBy(recipes, ({ name }) => posix.dirname(name));
  const legend = "minutes on two cores; success on held-out tasks after training; empty: not measured";
  const next = `${commandName()} train RECIPE --dry-run: what it would take here`;
  return [
    ...mainLines(main, width),
    ...Object.entries(folders).flatMap(([folder, listed = []]) => [
      "",
      "",
      ...folderLines(folder, listed, width),
    ]),
    "",
    ...wrapped(legend, width),
    next,
  ];
}

function mainLines(recipes: readonly Listed[], width: number): string[] {
  const groups = [...Map.groupBy(recipes, ({ environment }) => environment)];
  const { head, rows } = described(
    groups.flatMap(([, listed]) => listed),
    width,
  );
  const below = groups.flatMap(([environment, listed]) => [
    "",
    ...wrapped(heading(environment), width),
    ...rows.splice(0, listed.length).flat(),
  ]);
  return [...head, ...below];
}

function folderLines(folder: string, recipes: readonly Listed[], width: number): string[] {
  const { head, rows } = described(recipes, width);
  return [...wrapped(folderHeading(folder), width), "", ...head, ...rows.flat()];
}

/** A table whose last column is text that is wrapped: its head, and the lines of each recipe. */
function described(recipes: readonly Listed[], width: number): { head: string[]; rows: string[][] } {
  const columns = [
    { title: "recipe" },
    { title: "algorithm" },
    { title: "trains" },
    { title: "minutes", align: "right" as const },
    { title: "success", align: "right" as const },
  ];
  const [titles = "", rule = "", ...lines] = tableLines(columns, recipes.map(row));
  const room = Math.max(30, width - rule.length - 2);
  const rows = recipes.map(({ description }, index) => {
    const [first = "", ...more] = wrapped(description, room);
    const line = `${(lines[index] ?? "").padEnd(rule.length)}  ${first}`.trimEnd();
    return [line, ...more.map((text) => `${" ".repeat(rule.length)}  ${text}`)];
  });
  return { head: [`${titles.padEnd(rule.length)}  what it shows`, `${rule}  ${"─".repeat(13)}`], rows };
}

function row({ name, algorithm, policies, minutes, success }: Listed): string[] {
  return [
    name,
    algorithm ?? "none",
    algorithm === null ? "" : policies,
    minutes === null ? "" : String(minutes),
    success === null ? "" : showShare(success),
  ];
}

function heading(environment: string): string {
  const summary = environments.find(({ name }) => name === environment)?.summary;
  return summary === undefined ? `${environment || "unreadable"}:` : `${environment}: ${summary}`;
}

/** A folder of recipes is called like the experiment whose rows they are. */
function folderHeading(folder: string): string {
  if (folder === "algorithms") return "algorithms: one recipe each, on small boards of Plan-Path";
  const file = shippedExperiments()[folder];
  if (file === undefined) return `${folder}:`;
  return `${folder}: rows of an experiment; \`${commandName()} experiment ${folder}\` compares them, over several seeds`;
}
