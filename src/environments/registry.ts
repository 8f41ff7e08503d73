/** The environments that a recipe can name; others are loaded from modules. */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { blocksworld } from "./blocksworld/definition.ts";
import { eightQueens } from "./eight-queens/definition.ts";
import { command } from "./command/definition.ts";
import { coderTester } from "./code/coder-tester/definition.ts";
import { code } from "./code/definition.ts";
import { dataScience } from "./data-science/definition.ts";
import type { Environment, EnvironmentDefinition } from "./environment.ts";
import { listCases } from "./list-cases/definition.ts";
import { listPrograms } from "./list-programs/definition.ts";
import { gameDefinition, type Game, type GameDefinition } from "./game.ts";
import { openenv } from "./openenv/definition.ts";
import { math } from "./math/definition.ts";
import { questions } from "./questions/definition.ts";
import { planPath } from "./plan-path/definition.ts";
import { sokoban } from "./sokoban/definition.ts";
import { sudoku } from "./sudoku/definition.ts";
import { thinIce } from "./thin-ice/definition.ts";
import { wordProblems } from "./word-problems/definition.ts";

/** To add one, add it here (docs/writing-an-environment.md). */
export const games: readonly GameDefinition<unknown>[] = [
  planPath,
  sudoku,
  eightQueens,
  sokoban,
  blocksworld,
  thinIce,
];

export const environments: readonly EnvironmentDefinition<unknown>[] = [
  ...games.map(gameDefinition),
  code,
  coderTester,
  listPrograms,
  listCases,
  wordProblems,
  math,
  questions,
  dataScience,
  command,
  openenv,
];

/** Their observations and actions consist of known words, which a small tokenizer can have. */
export const ofWords: readonly string[] = [...games, listPrograms, listCases, wordProblems].map(
  ({ name }) => name,
);

/** @throws TroupeError `bad_recipe` for an unknown name, with the nearest one. */
export function environmentNamed(name: string): EnvironmentDefinition<unknown> {
  return named(environments, name);
}

/** Creates the environment from options, which are checked first (ZodError). */
export async function createEnvironment(name: string, options: unknown): Promise<Environment> {
  const definition = environmentNamed(name);
  return definition.create(definition.options.parse(options));
}

/** Like `createEnvironment`, for a game, whose rules are synchronous. */
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
