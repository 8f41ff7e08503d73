/** The environments that a recipe can name. */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import type { Environment, EnvironmentDefinition } from "./environment.ts";
import { blocksworld } from "./blocksworld/definition.ts";
import { eightQueens } from "./eight-queens/definition.ts";
import { planPath } from "./plan-path/definition.ts";
import { sudoku } from "./sudoku/definition.ts";
import { sokoban } from "./sokoban/definition.ts";

/** To add one, add it here (docs/environments.md). */
export const environments: readonly EnvironmentDefinition<unknown>[] = [
  planPath,
  sudoku,
  eightQueens,
  sokoban,
  blocksworld,
];

/** @throws TroupeError `bad_recipe` for an unknown name, with the nearest one. */
export function environmentNamed(name: string): EnvironmentDefinition<unknown> {
  const found = environments.find((definition) => definition.name === name);
  if (found !== undefined) return found;
  const names = environments.map((definition) => definition.name);
  const hint = didYouMean(name, names) ?? `there is ${names.join(", ")}`;
  throw new TroupeError("bad_recipe", `environment.name: there is no environment \`${name}\`; ${hint}`);
}

/** Checks the options (a ZodError says what is wrong with them) and makes the environment. */
export function createEnvironment(name: string, options: unknown): Environment {
  const definition = environmentNamed(name);
  return definition.create(definition.options.parse(options));
}
