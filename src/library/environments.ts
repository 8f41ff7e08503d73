/** Parts of environments for modules of recipes. */
import { z } from "zod";
import { checkArgument, functionSchema } from "../arguments.ts";
import { datasetSchema } from "../data/dataset.ts";
import * as warnings from "../data/source-warnings.ts";
import * as data from "../data/task-sources.ts";
import type { Environment, EnvironmentDefinition, FiniteTasks, Json } from "../environments/environment.ts";
import * as games from "../environments/game.ts";
import * as programs from "../environments/programs/environment.ts";
import type { ProgramSeat } from "../environments/programs/seat.ts";
import { taskList as listOf } from "../environments/tasks.ts";
import * as schemas from "./schemas.ts";

/** A finite source of tasks in memory. */
export function taskList<Task>(tasks: readonly Task[]): FiniteTasks<Task> {
  checkArgument("tasks", z.array(z.unknown()), tasks);
  return listOf(tasks);
}

const programSeat = z.looseObject({
  writer: z.string(),
  reader: z.string(),
  task: z.string(),
  input: functionSchema,
  limits: z.looseObject({ seconds: z.number(), megabytes: z.number(), characters: z.number() }),
});

const game = z.looseObject({
  name: z.string(),
  seats: z.record(z.string(), z.looseObject({ purpose: z.string() })),
  words: z.array(z.string()),
  splits: z.array(z.string()).optional(),
  task: functionSchema,
  start: functionSchema,
  observe: functionSchema,
  step: functionSchema,
  outcome: functionSchema,
  render: functionSchema,
  solve: functionSchema,
  programs: programSeat.optional(),
});

export function gameEnvironment(given: games.Game): Environment {
  checkArgument("game", game, given);
  return games.gameEnvironment(given);
}

export function gameDefinition<Options>(
  definition: games.GameDefinition<Options>,
): EnvironmentDefinition<Options> {
  checkArgument("definition", schemas.definition, definition);
  return games.gameDefinition(definition);
}

/** @param direct every seat writes its own notation; the team's phases decide who acts */
export function withPrograms(
  direct: Environment,
  seat: ProgramSeat,
): Environment<Json, programs.ProgramState> {
  checkArgument("direct", schemas.environment, direct);
  checkArgument("programs", programSeat, seat);
  return programs.withPrograms(direct, seat);
}

const taskSourcesOptions = z.looseObject({
  dataset: datasetSchema,
  splits: z.record(z.string(), z.string()),
  refresh: z.boolean().optional(),
  prepared: functionSchema.optional(),
});

/**
 * Opens the data set once and slices it.
 * @throws TroupeError `bad_arguments` for slices that are empty or share rows, `bad_data` if the data set is not
 * available
 */
export async function taskSources(
  options: data.TaskSourcesOptions,
): Promise<Record<string, data.ProblemSource>> {
  checkArgument("options", taskSourcesOptions, options);
  return data.taskSources(options);
}

const leftOut = z.array(z.looseObject({ row: z.number(), split: z.string(), reason: z.string() }));
const problemSource = z.looseObject(
  {
    size: z.int(),
    malformed: leftOut,
    failing: z.array(leftOut.element.extend({ id: z.string() })),
    shingled: functionSchema,
  },
  "expected a source of problems (taskSources)",
);

/** @param key the environment's option that names the data set */
export async function sourceWarnings(
  sources: Readonly<Record<string, data.ProblemSource>>,
  key: string,
): Promise<readonly warnings.SourceWarning[]> {
  checkArgument("sources", z.record(z.string(), problemSource), sources);
  checkArgument("key", schemas.text, key);
  return warnings.sourceWarnings(sources, key);
}
