/**
 * A game: rules that answer synchronously, read plain text, draw tasks from an endless space and can be solved. All
 * included environments are games; `gameEnvironment` turns one into an environment.
 */
import type { Key } from "../random.ts";
import type {
  Demonstration,
  Environment,
  EnvironmentDefinition,
  Json,
  Oracle,
  Outcome,
  Reply,
  SeatDescription,
  StepResult,
  TaskSchema,
} from "./environment.ts";
import type { ActionReward } from "./environment.ts";
import { withPrograms } from "./programs/environment.ts";
import type { ProgramSeat } from "./programs/seat.ts";
import { drawnSplits, type GameSplit } from "./tasks.ts";

/** What the seats of a phase wrote, by seat. */
export type Actions = Readonly<Record<string, string>>;

export interface GameStep<State> extends StepResult<State> {
  readonly rewards: Readonly<Record<string, ActionReward>>;
}

/** Members have the same meaning as those of `Environment` and `Oracle`. */
export interface Game<Task extends Json = Json, State extends Json = Json> {
  readonly name: string;
  readonly seats: Readonly<Record<string, SeatDescription>>;
  readonly words: readonly string[];
  readonly summable?: readonly string[];
  /** Fewer if the space of tasks is too small for all three. Absent: train, validation, heldOut. */
  readonly splits?: readonly GameSplit[];
  readonly taskSchema?: TaskSchema<Task>;
  task(split: GameSplit, key: Key): Task;
  start(task: Task): State;
  observe(state: State, seat: string): string;
  step(state: State, actions: Actions): GameStep<State>;
  endTurn?(state: State): State;
  outcome(state: State): Outcome;
  render(state: State): string;
  solve(state: State, seat: string): string;
  demonstrations?(key: Key, seats: readonly string[]): Demonstration[];
  /** A seat writes programs, which needs a sandbox. Absent: every seat writes its own notation. */
  readonly programs?: ProgramSeat<State>;
}

export interface GameDefinition<Options> extends Omit<EnvironmentDefinition<Options>, "create"> {
  create(options: Options): Game;
}

export function gameEnvironment(game: Game): Environment {
  const direct = directEnvironment(game);
  return game.programs === undefined ? direct : withPrograms(direct, game.programs);
}

function directEnvironment(game: Game): Environment {
  const { words, summable } = game;
  const oracle: Oracle = {
    words,
    ...(summable === undefined ? {} : { summable }),
    solve: (state, seat) => game.solve(state, seat),
    ...(game.demonstrations === undefined
      ? {}
      : { demonstrations: (key, seats) => game.demonstrations?.(key, seats) ?? [] }),
  };
  return {
    name: game.name,
    seats: game.seats,
    tasks: drawnSplits((split, key) => game.task(split, key), { splits: game.splits }),
    ...(game.taskSchema === undefined ? {} : { taskSchema: game.taskSchema }),
    start: (task) => game.start(task),
    observe: (state, seat) => game.observe(state, seat),
    step: (state, replies) => game.step(state, textsOf(replies)),
    ...(game.endTurn === undefined ? {} : { endTurn: (state) => game.endTurn?.(state) ?? state }),
    outcome: (state) => game.outcome(state),
    render: (state) => game.render(state),
    oracle,
  };
}

export function gameDefinition<Options>(definition: GameDefinition<Options>): EnvironmentDefinition<Options> {
  return { ...definition, create: (options) => gameEnvironment(definition.create(options)) };
}

function textsOf(replies: Readonly<Record<string, Reply>>): Actions {
  return Object.fromEntries(Object.entries(replies).map(([seat, { text }]) => [seat, text]));
}
