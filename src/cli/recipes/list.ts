/** Tables of recipes: one for all environments, and one per folder of recipes. */
import { posix } from "node:path";
import { z } from "zod";
import { command } from "../../command-line.ts";
import { algorithmFrom } from "../../credit/algorithms.ts";
import { environments } from "../../environments/registry.ts";
import { TroupeError } from "../../errors.ts";
import { shippedExperiments } from "../../experiments/shipped.ts";
import { showShare } from "../../format.ts";
import { loadTree } from "../../recipes/load.ts";
import { teamSchema } from "../../recipes/schema.ts";
import { showPath, plainOf } from "../../recipes/tree.ts";
import { criticsOf } from "../../train/auxiliary.ts";
import { tableLines, wrapped } from "../table.ts";

/** One table with each environment's recipes below its name, and one for each folder of recipes. */
export function listLines(recipes: readonly Listed[], width: number): string[] {
  const { ".": main = [], ...folders } = Object.groupBy(recipes, ({ name }) => posix.dirname(name));
  const legend =
    "minutes on two cores and success on held-out tasks after training, as measured; –: not measured";
  return [
    ...mainLines(main, width),
    ...Object.entries(folders).flatMap(([folder, listed = []]) => [
      "",
      "",
      ...folderLines(folder, listed, width),
    ]),
    "",
    ...wrapped(legend, width),
    "",
    `${command("recipes", "NAME")}           shows a recipe's file, or lists a folder`,
    `${command("train", "NAME", "--dry-run")}   estimate of its cost on this machine`,
    `${command("train", "NAME")}             trains it; start with quick-start`,
    "",
    ...wrapped("A recipe's folder may be left out where the rest of its name is unique.", width),
  ];
}

function mainLines(recipes: readonly Listed[], width: number): string[] {
  const order = environments.map(({ name }) => name);
  const groups = [...Map.groupBy(recipes, ({ environment }) => environment)].toSorted(
    ([left], [right]) => order.indexOf(left) - order.indexOf(right),
  );
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

export function folderLines(folder: string, recipes: readonly Listed[], width: number): string[] {
  const { head, rows } = described(recipes, width);
  return [...wrapped(folderHeading(folder), width), "", ...head, ...rows.flat()];
}

/** Narrower descriptions are on lines of their own. */
const narrowest = 24;

/** A table whose last column is wrapped text: its head, and the lines of each recipe. */
function described(recipes: readonly Listed[], width: number): { head: string[]; rows: string[][] } {
  const columns = [
    { title: "recipe" },
    { title: "algorithm" },
    { title: "trains", leftOut: 1 },
    { title: "minutes", align: "right" as const, leftOut: 2 },
    { title: "success", align: "right" as const },
  ];
  const [titles = "", rule = "", ...lines] = tableLines(columns, recipes.map(row), width);
  const room = width - rule.length - 2;
  if (room < narrowest) {
    const below = recipes.map(({ description }) => wrapped(description, width - 4));
    const rows = below.map((text, index) => [lines[index] ?? "", ...text.map((each) => `    ${each}`)]);
    return { head: [titles, rule], rows };
  }
  const rows = recipes.map(({ description }, index) => {
    const [first = "", ...more] = wrapped(description, room);
    const line = `${(lines[index] ?? "").padEnd(rule.length)}  ${first}`.trimEnd();
    return [line, ...more.map((text) => `${" ".repeat(rule.length)}  ${text}`)];
  });
  return { head: [`${titles.padEnd(rule.length)}  description`, `${rule}  ${"─".repeat(11)}`], rows };
}

function row(listed: Listed): string[] {
  const { name, algorithm, minutes, success } = listed;
  return [
    name,
    algorithm ?? "none",
    algorithm === null ? "" : trained(listed),
    minutes === null ? "–" : String(minutes),
    success === null ? "–" : showShare(success),
  ];
}

function heading(environment: string): string {
  const summary = environments.find(({ name }) => name === environment)?.summary;
  return summary === undefined ? `${environment || "unreadable"}:` : `${environment}: ${summary}`;
}

/** A folder of recipes has the name of the experiment whose rows it contains. */
function folderHeading(folder: string): string {
  if (folder === "algorithms") return "algorithms: one recipe each, and some options, on small tasks";
  const file = shippedExperiments()[folder];
  if (file === undefined) return `${folder}:`;
  return `${folder}: rows of an experiment; \`${command("experiment", folder)}\` compares them over several seeds`;
}

/** The part of a recipe that the list shows; a recipe with mistakes elsewhere is still listed. */
const shown = z.object({
  description: z.string().default(""),
  environment: z.object({ name: z.string().optional(), module: z.string().optional() }),
  team: teamSchema,
  algorithm: z.looseObject({ name: z.string().optional(), module: z.string().optional() }),
  policies: z.record(z.string(), z.object({ adapter: z.object({}).optional() })),
  train: z.object({ steps: z.number() }),
  expected: z.object({ minutes: z.number().optional(), success: z.number().optional() }).default({}),
});

export interface Listed {
  readonly name: string;
  readonly file: string;
  readonly environment: string;
  readonly description: string;
  /** null: no reinforcement. */
  readonly algorithm: string | null;
  readonly policies: string;
  /** Models that estimate values for the algorithm and are trained beside the policies. */
  readonly critics: number;
  /** As measured on two cores; null: not measured. */
  readonly minutes: number | null;
  readonly success: number | null;
}

/** What a list shows of a recipe: what it demonstrates, what it trains, and its cost. */
export function describe(name: string, file: string): Listed {
  const recipe = read(file);
  const common = { name, file: showPath(file) };
  if (recipe === undefined) {
    const nothing = {
      environment: "",
      description: `cannot be read; \`${command("train", name, "--dry-run")}\` says why`,
    };
    return { ...common, ...nothing, algorithm: null, policies: "", critics: 0, minutes: null, success: null };
  }
  const { description, environment, algorithm, policies, critics, train, expected } = recipe;
  return {
    ...common,
    environment: environment.name ?? environment.module ?? "",
    description,
    algorithm: train.steps > 0 ? (algorithm.name ?? algorithm.module ?? "") : null,
    policies: sharing(Object.values(policies)),
    critics,
    minutes: expected.minutes ?? null,
    success: expected.success ?? null,
  };
}

/** `1 model, 2 critics` */
export function trained({ policies, critics }: Listed): string {
  return critics === 0 ? policies : `${policies}, ${counted(critics, "critic")}`;
}

/** Merged with what it extends; undefined: one invalid recipe must not fail the list. */
function read(file: string): (z.output<typeof shown> & { readonly critics: number }) | undefined {
  try {
    const recipe = shown.safeParse(plainOf(loadTree(file))).data;
    if (recipe === undefined) return undefined;
    return { ...recipe, critics: criticsIn(recipe) };
  } catch (error) {
    if (error instanceof TroupeError) return undefined;
    throw error;
  }
}

/** A module is unknown until it is loaded, which a list does not do. */
function criticsIn(recipe: z.output<typeof shown>): number {
  const { name, ...options } = recipe.algorithm;
  return name === undefined ? 0 : criticsOf(recipe, algorithmFrom(name, options).critic).length;
}

function sharing(policies: readonly { readonly adapter?: object | undefined }[]): string {
  const adapters = policies.filter(({ adapter }) => adapter !== undefined).length;
  const models = policies.length - adapters;
  return [adapters > 0 && counted(adapters, "adapter"), models > 0 && counted(models, "model")]
    .filter((part) => part !== false)
    .join(", ");
}

/** `1 model`, `2 models` */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
