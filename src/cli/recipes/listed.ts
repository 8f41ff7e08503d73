/** What is told of a recipe: what it shows, what it trains, what that took. */
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { loadTree } from "../../recipes/load.ts";
import { showPath } from "../../recipes/origin.ts";
import { plainOf } from "../../recipes/tree.ts";
import { commandName } from "../print.ts";

/** The part of a recipe that the list shows; a recipe that is wrong elsewhere is listed all the same. */
const shown = z.object({
  description: z.string().default(""),
  environment: z.object({ name: z.string() }),
  algorithm: z.object({ name: z.string() }),
  policies: z.record(z.string(), z.object({ adapter: z.object({}).optional() })),
  train: z.object({ steps: z.number() }),
  expected: z.object({ minutes: z.number().optional(), success: z.number().optional() }).default({}),
});

export interface Listed {
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

export function describe(name: string, file: string): Listed {
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
