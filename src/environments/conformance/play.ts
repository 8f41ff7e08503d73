/** Plays episodes for the checks. */
import type { Generator, Key } from "../../random.ts";
import { childKey, drawInt, generatorOf, keyAt } from "../../random.ts";
import type { ActionText, Environment, Json, Outcome, Split, StepResult } from "../environment.ts";

/** What the checks run on. */
export interface Setting {
  readonly environment: Environment;
  readonly seats: readonly string[];
  readonly turns: number;
  readonly tasks: number;
  readonly key: Key;
  readonly milliseconds: number;
}

/** One phase of an episode as it was played. */
export interface Move {
  readonly before: Json;
  readonly observations: Readonly<Record<string, string>>;
  readonly actions: Readonly<Record<string, ActionText>>;
  readonly result: StepResult<Json>;
}

export interface Played {
  readonly task: Json;
  readonly moves: readonly Move[];
  readonly last: Json;
  readonly done: boolean;
  readonly outcome: Outcome;
}

export interface PlayOptions {
  /** What a seat writes. */
  readonly act: (state: Json, seat: string) => ActionText;
  /** All seats act at once instead of one after another. */
  readonly together?: boolean;
  /** Applied to the task and to every state before the environment sees it again. */
  readonly pass?: (value: Json) => Json;
}

/** Plays until the environment says that the episode is over, or the turns are. */
export function play({ environment, seats, turns }: Setting, task: Json, options: PlayOptions): Played {
  const pass = options.pass ?? ((value: Json): Json => value);
  const phases = options.together === true ? [seats] : seats.map((seat) => [seat]);
  const moves: Move[] = [];
  let state = pass(environment.start(pass(task)));
  let done = false;
  for (let turn = 0; turn < turns && !done; turn++) {
    for (const phase of phases) {
      const current = state;
      const observations = each(phase, (seat) => environment.observe(current, seat));
      const actions = each(phase, (seat) => options.act(current, seat));
      const result = environment.step(current, actions);
      moves.push({ before: current, observations, actions, result });
      state = pass(result.state);
      done = result.done;
      if (done) break;
    }
    if (!done) state = pass(environment.endTurn?.(state) ?? state);
  }
  return { task, moves, last: state, done, outcome: environment.outcome(state) };
}

function each(seats: readonly string[], value: (seat: string) => string): Record<string, string> {
  return Object.fromEntries(seats.map((seat) => [seat, value(seat)]));
}

export function taskOf(setting: Setting, index: number, split: Split = "train"): Json {
  return setting.environment.task(split, keyAt(setting.key, "tasks", index));
}

/** Random words of the environment, mixed with what the solver would write, so that episodes get somewhere. */
export function randomPlay(setting: Setting, index: number): PlayOptions["act"] {
  const generator = generatorOf(keyAt(setting.key, "actions", index));
  const { environment } = setting;
  return (state, seat) => {
    const solved = drawInt(generator, 2) === 0 ? environment.solve?.(state, seat) : undefined;
    return solved ?? randomWords(generator, environment.words);
  };
}

export function randomWords(generator: Generator, words: readonly string[]): string {
  const length = drawInt(generator, 12);
  return Array.from({ length }, () => words[drawInt(generator, words.length)]).join(" ");
}

export function solverPlay({ environment }: Setting): PlayOptions["act"] {
  return (state, seat) => environment.solve?.(state, seat) ?? "";
}

/** Episodes of random and solved actions, sequential and simultaneous, on train and held-out tasks. */
export function* someEpisodes(setting: Setting, count = 24): Iterable<Played> {
  for (let index = 0; index < count; index++) {
    const act = index % 3 === 0 ? solverPlay(setting) : randomPlay(setting, index);
    const task = taskOf(setting, index, index % 2 === 0 ? "train" : "heldOut");
    yield play(setting, task, { act, together: index % 4 >= 2 });
  }
}

/** A key for a check's own draws. */
export function checkKey(setting: Setting, name: string): Key {
  return childKey(setting.key, name);
}

/** @throws Error with the message unless the condition holds. */
export function demand(condition: boolean, message: () => string): asserts condition {
  if (!condition) throw new Error(message());
}

/** The value as JSON, shortened for a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}
