/** Plays episodes for the checks. */
import type { Generator, Key } from "../../random.ts";
import { childKey, drawInt, generatorOf, keyAt } from "../../random.ts";
import type { Message } from "../../text/tokenizer.ts";
import type {
  Awaitable,
  Context,
  Environment,
  Json,
  Outcome,
  Services,
  Split,
  StepResult,
} from "../environment.ts";
import { advance, plainReply, seatsToAct, startEpisode, type Schedule } from "../progression.ts";
import { sourceOf } from "../tasks.ts";

/** What the checks run on. */
export interface Setting {
  readonly environment: Environment;
  readonly seats: readonly string[];
  /** The seats of each phase of a turn; those of a phase act simultaneously. */
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
  readonly tasks: number;
  readonly key: Key;
  readonly milliseconds: number;
  readonly services: Services;
}

/** One joint action of an episode. */
export interface TranscriptStep {
  readonly before: Json;
  readonly observations: Readonly<Record<string, string | readonly Message[]>>;
  readonly actions: Readonly<Record<string, string>>;
  readonly result: StepResult<Json>;
}

export interface Transcript {
  readonly task: Json;
  readonly steps: readonly TranscriptStep[];
  readonly last: Json;
  readonly done: boolean;
  readonly outcome: Outcome;
}

export interface PlayOptions {
  /** What a seat writes. */
  readonly act: (state: Json, seat: string) => string;
  /** All seats act simultaneously, whatever the phases. */
  readonly together?: boolean;
  /** Applied to the task and to every state before the environment sees it again. */
  readonly pass?: (value: Json) => Json;
}

/** Plays until the environment ends the episode or the turns run out. */
export async function play(setting: Setting, task: Json, options: PlayOptions): Promise<Transcript> {
  const { environment, seats, turns } = setting;
  const pass = options.pass ?? ((value: Json): Json => value);
  const phases = options.together === true ? [seats] : setting.phases;
  const schedule: Schedule = { phases, turns };
  const steps: TranscriptStep[] = [];
  let position = await startEpisode(environment, pass(task), contextFor(setting, "start"));
  position = { ...position, state: pass(position.state) };
  let isOver = false;
  while (!position.done) {
    const before = position.state;
    const acting = seatsToAct(environment, schedule, position);
    const observations = each(acting, (seat) => environment.observe(before, seat));
    const actions = each(acting, (seat) => options.act(before, seat));
    const replies = each(acting, (seat) => plainReply(actions[seat] ?? ""));
    const after = await advance(environment, schedule, position, replies, contextFor(setting, "step"));
    steps.push({ before, observations, actions, result: after.result });
    isOver = after.result.done;
    position = { ...after.position, state: pass(after.position.state) };
  }
  return { task, steps, last: position.state, done: isOver, outcome: environment.outcome(position.state) };
}

/** Steps a state with these texts as replies. */
export function stepText(
  setting: Setting,
  state: Json,
  actions: Readonly<Record<string, string>>,
): Awaitable<StepResult<Json>> {
  return setting.environment.step(
    state,
    each(Object.keys(actions), (seat) => plainReply(actions[seat] ?? "")),
    contextFor(setting, "step"),
  );
}

export function startOf(setting: Setting, task: Json): Awaitable<Json> {
  return setting.environment.start(task, contextFor(setting, "start"));
}

/** The same call gets the same key: an environment may draw from it. */
function contextFor({ key, services }: Setting, call: string): Context {
  return { key: keyAt(key, "context", call), signal: never, services };
}

const never = new AbortController().signal;

function each<Value>(seats: readonly string[], value: (seat: string) => Value): Record<string, Value> {
  return Object.fromEntries(seats.map((seat) => [seat, value(seat)]));
}

/** The task with a number; a finite split starts over after its last task. */
export async function taskOf(setting: Setting, index: number, split: Split = "train"): Promise<Json> {
  const source = sourceOf(setting.environment, split);
  if (source.size === null) return source.draw(keyAt(setting.key, "tasks", index));
  return source.at(index % source.size);
}

/** Random words of the environment mixed with the solver's actions, so that episodes make progress. */
export function randomPlay(setting: Setting, index: number): PlayOptions["act"] {
  const generator = generatorOf(keyAt(setting.key, "actions", index));
  const { oracle } = setting.environment;
  return (state, seat) => {
    const solved = drawInt(generator, 2) === 0 ? oracle?.solve?.(state, seat) : undefined;
    return solved ?? randomWords(generator, wordsFor(setting));
  };
}

const plainWords = "yes no 0 1 2 3 42 the answer is def return print ( ) { } [ ] , : ;".split(" ");

/** The environment's own words, or some that suit any environment. */
export function wordsFor({ environment }: Setting): readonly string[] {
  return environment.oracle?.words ?? plainWords;
}

export function randomWords(generator: Generator, words: readonly string[]): string {
  const length = drawInt(generator, 12);
  return Array.from({ length }, () => words[drawInt(generator, words.length)]).join(" ");
}

export function solverPlay({ environment }: Setting): PlayOptions["act"] {
  return (state, seat) => environment.oracle?.solve?.(state, seat) ?? "";
}

const played = new WeakMap<Setting, Promise<Transcript>[]>();

/**
 * Episodes with random and solver actions, sequential and simultaneous, on train and held-out tasks. They are played once
 * for all checks that look at them.
 */
export async function* someEpisodes(setting: Setting): AsyncIterable<Transcript> {
  const episodes = played.get(setting) ?? [];
  played.set(setting, episodes);
  for (let index = 0; index < Math.min(24, setting.tasks); index++) {
    yield await (episodes[index] ??= episode(setting, index));
  }
}

async function episode(setting: Setting, index: number): Promise<Transcript> {
  const act = index % 3 === 0 ? solverPlay(setting) : randomPlay(setting, index);
  const task = await taskOf(setting, index, index % 2 === 0 ? "train" : "heldOut");
  return play(setting, task, { act, together: index % 4 >= 2 });
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
