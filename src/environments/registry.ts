/** The environments that a recipe can name; others come from modules. */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { blocksworld } from "./blocksworld/definition.ts";
import { eightQueens } from "./eight-queens/definition.ts";
import type { Environment, EnvironmentDefinition } from "./environment.ts";
import { gameDefinition, type Game, type GameDefinition } from "./game.ts";
import { planPath } from "./plan-path/definition.ts";
import { sokoban } from "./sokoban/definition.ts";
import { sudoku } from "./sudoku/definition.ts";
import { thinIce } from "./thin-ice/definition.ts";

/** To add one, add it here (docs/environments.md). */
export const games: readonly GameDefinition<unknown>[] = [
  planPath,
  sudoku,
  eightQueens,
  sokoban,
  blocksworld,
  thinIce,
];

export const environments: readonly EnvironmentDefinition<unknown>[] = games.map(gameDefinition);

/** @throws TroupeError `bad_recipe` for an unknown name, with the nearest one. */
export function environmentNamed(name: string): EnvironmentDefinition<unknown> {
  return named(environments, name);
}

/** Checks the options (a ZodError says what is wrong with them) and makes the environment. */
export async function createEnvironment(name: string, options: unknown): Promise<Environment> {
  const definition = environmentNamed(name);
  return definition.create(definition.options.parse(options));
}

/** As `createEnvironment`, of a game, whose rules answer at once. */
export function createGame(name: string, options: unknown): Game {
  const definition = named(games, name);
  return definition.create(definition.options.parse(options));
}

function named<Definition extends { readonly name: string }>(
  definitions: readonly Definition[],
  name: string,
): Definition {
  const found = definitions.find((definition) => definition.name === name);
  if (found !== undefined) return found;
  const names = definitions.map((definition) => definition.name);
  const hint = didYouMean(name, names) ?? `there is ${names.join(", ")}`;
  throw new TroupeError("bad_recipe", `environment.name: there is no environment \`${name}\`; ${hint}`);
}
