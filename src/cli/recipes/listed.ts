/** What a list shows of a recipe: what it demonstrates, what it trains, and its cost. */
import { z } from "zod";
import { command } from "../../command-line.ts";
import { algorithmFrom } from "../../credit/algorithms.ts";
import { TroupeError } from "../../errors.ts";
import { loadTree } from "../../recipes/load.ts";
import { teamSchema } from "../../recipes/schema.ts";
import { showPath, plainOf } from "../../recipes/tree.ts";
import { criticsOf } from "../../train/auxiliary.ts";

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
