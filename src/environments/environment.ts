/**
 * The rules of a task: what a seat sees, what its action does, what it earns.
 *
 * A state is a value: `step` returns a new one and never changes its argument, and `JSON.parse(JSON.stringify(state))`
 * is the same state. Sampling K actions from one state, replaying, re-scoring and resuming are then all trivial.
 * No function here may throw at what a model wrote: a bad action is an action with a bad reward and a reason. A service
 * that fails (a sandbox, a model behind a network) is a `ServiceError`: the call is tried again, then the episode dropped.
 */
import type { Key } from "../random.ts";
import type { Reply } from "../text/replies.ts";
import type { Message, Tool } from "../text/messages.ts";

export type { Message, Tool } from "../text/messages.ts";
export type { Reply, ToolCall } from "../text/replies.ts";

/** JSON, as a type: what a task or a state may consist of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Awaitable<T> = T | Promise<T>;

/** Where the tasks of a split come from: a finite list, such as a data set's, or an endless space that is drawn from by key. */
export type TaskSource<Task> = FiniteTasks<Task> | EndlessTasks<Task>;

export interface FiniteTasks<Task> {
  readonly size: number;
  /** @param index from 0 to size − 1; the same index always gives the same task */
  at(index: number): Awaitable<Task>;
}

export interface EndlessTasks<Task> {
  readonly size: null;
  /** The same key always gives the same task. */
  draw(key: Key): Awaitable<Task>;
}

/** A zod schema, or anything else that throws where the input is no task. */
export interface TaskSchema<Task> {
  parse(input: unknown): Task;
}

/** What a call of `start` or `step` may use besides its arguments. */
export interface Context {
  /** Random key of this very call, derived from run, step, task, state and sample: a retry gets the same one. */
  readonly key: Key;
  /** Aborted where the episode is cancelled: end what was started. */
  readonly signal: AbortSignal;
  readonly services: Services;
}

/**
 * What a caller lends to environments, extended by declaration merging. Runs and the command line lend nothing yet: only
 * programs that call the sampler, a replay or the conformance kit themselves can.
 */
// eslint-disable-next-line typescript/no-empty-interface
export interface Services {}

/** The reward of one action. An algorithm combines the two as α·team + local. */
export interface ActionReward {
  /** What the team earned by it, in [0, 1]: the same scale for every seat. */
  readonly team: number;
  /** What the seat did well on its own, in [0, 1]: format, legality, quality. */
  readonly local: number;
  /** The terms of `local`, by name, for people and for tests. */
  readonly parts: Readonly<Record<string, number>>;
  /** Why an action was not taken as meant: "no moves found", "bumped into a wall at c4". Absent: nothing wrong. */
  readonly reason?: string;
}

export interface StepResult<State> {
  readonly state: State;
  /** One reward for each seat that acted; null: it is judged later, or never. */
  readonly rewards: Readonly<Record<string, ActionReward | null>>;
  /** The episode is over, whatever the turn limit says. */
  readonly done: boolean;
}

/** How far an episode got: what trajectory-level algorithms are rewarded with and what evaluation counts. */
export interface Outcome {
  readonly success: boolean;
  /** In [0, 1]; 1 exactly on success. It cannot be raised by splitting or repeating work. */
  readonly score: number;
}

export interface Environment<Task extends Json = Json, State extends Json = Json> {
  readonly name: string;
  /**
   * The seats this environment knows and what each is for. A team's roles are mapped to seats; a seat may be left
   * empty (the single-agent form leaves the helpers' seats empty).
   */
  readonly seats: Readonly<Record<string, SeatDescription>>;
  /** By split: `train` and `heldOut` at least. No two splits share a task (not only never a seed). */
  readonly tasks: Readonly<Record<Split, TaskSource<Task>>>;
  /** What a task that comes from outside has to be. Absent: any JSON; `start` then has to cope with it. */
  readonly taskSchema?: TaskSchema<Task>;
  start(task: Task, context: Context): Awaitable<State>;
  /**
   * The seats that act now, at once; none: the turn is over. A seat may act any number of times in a turn. Absent: the
   * team's phases decide.
   */
  next?(state: State): readonly string[];
  /** What a seat sees in a state: the user's message of its prompt, or several messages. Data, never markup. */
  observe(state: State, seat: string): string | readonly Message[];
  /** The seats of one phase act at once, from the same state. `replies` has an entry for each of them. */
  step(
    state: State,
    replies: Readonly<Record<string, Reply>>,
    context: Context,
  ): Awaitable<StepResult<State>>;
  /** Called when a turn is over and before the next one begins. */
  endTurn?(state: State): State;
  outcome(state: State): Outcome;
  /** The state drawn for a person, a few lines of text. */
  render(state: State): string;
  /** What games know of their own solution. */
  readonly oracle?: Oracle<State>;
}

/** Optional: what a solver and a closed vocabulary make possible. Every part may be absent. */
export interface Oracle<State extends Json = Json> {
  /**
   * Every word of the observations and of a solver's actions (what white space separates), for the word-level
   * tokenizer of `troupe init`. Seats' prompts are written for pretrained models and are not included.
   */
  readonly words?: readonly string[];
  /**
   * The seats whose rewards may be added up over the turns of an episode: without success such a seat earns less in all than
   * where the solver plays, however it plays, and nothing for going the same round again. To solve in several turns may
   * pay more than to solve at once. Absent: of no seat; then rewards are for comparing the actions of one state, and
   * training by their sum gives a warning.
   */
  readonly summable?: readonly string[];
  /** What a solver would write in the seat now; the best possible play. Used by tests, `play` hints and bounds. */
  solve?(state: State, seat: string): string;
  /** Solver-made examples for the seats asked for, from training tasks: what a supervised warm start learns from. */
  demonstrations?(key: Key, seats: readonly string[]): Demonstration[];
}

/** A solved example: what a solver would write in a seat. */
export interface Demonstration {
  readonly seat: string;
  readonly observation: string;
  readonly action: string;
}

export interface SeatDescription {
  /** One sentence: what the seat does. */
  readonly purpose: string;
  /** The system message a role in this seat gets unless the recipe gives its own. */
  readonly prompt: string;
  /** Tokens a well-formed action may need at most, for word-level vocabularies; a recipe's default. */
  readonly maxTokens: number;
  /** What a model in this seat may call; its chat template tells it. */
  readonly tools?: readonly Tool[];
  /** Why no other seat may be taken where this one is: "its route moves the agent". Absent: any may. */
  readonly alone?: string;
  /** Actions of this seat may have no reward (null): to train it takes a judge, or an algorithm that needs none. */
  readonly judged?: true;
}

/** `train`, `validation` (for choices: learning rates, design), `heldOut` (for final numbers), and an environment's own. */
export type Split = "train" | "heldOut" | (string & {});

/** An environment's entry in the registry: its options, checked, make an environment. */
export interface EnvironmentDefinition<Options> {
  readonly name: string;
  readonly summary: string;
  /** Parses and checks options (zod), with defaults. */
  readonly options: { parse(input: unknown): Options };
  /** Reading a data set may take a while. */
  create(options: Options): Awaitable<Environment>;
}
