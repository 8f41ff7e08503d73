/**
 * The rules of a task: what a seat sees, what its action does, what it earns.
 *
 * A state is a value: `step` returns a new one and never changes its argument, and `JSON.parse(JSON.stringify(state))`
 * is the same state. This keeps sampling K actions from one state, replaying, re-scoring and resuming simple. No
 * function here may throw because of what a model wrote: a bad action gets a bad reward and a reason. A service that
 * fails (a sandbox, a model behind a network) throws a `ServiceError`: the call is retried, then the episode is
 * dropped.
 */
import type { FileStore } from "../files/store.ts";
import type { Gateway, GatewayPlace, OpenSession } from "../gateway/gateway.ts";
import type { RoleReply } from "../gateway/roles.ts";
import type { Key } from "../random.ts";
import type { DataOrigin } from "../runs/input-records.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import type { ServiceLog } from "../calls/services.ts";
import type { PackageSet } from "../sandbox/packages/sets.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Reply } from "../text/replies.ts";
import type { Message, Tool } from "../text/messages.ts";
import type { ToolService } from "../tools/tool.ts";

export type { Message, Tool } from "../text/messages.ts";
export type { Reply, ToolCall } from "../text/replies.ts";

/** JSON, as a type: what a task or a state may consist of. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type Awaitable<T> = T | Promise<T>;

/** The tasks of a split: a finite list, such as a data set, or an endless space from which tasks are drawn by key. */
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
  /** Tasks with the same identity are one task put in different ways: an evaluation takes one of them. Default: as JSON. */
  identity?(task: Task): string;
}

/** A zod schema, or anything else whose `parse` throws on invalid input. */
export interface TaskSchema<Task> {
  parse(input: unknown): Task;
}

/** What a call of `start` or `step` may use besides its arguments. */
export interface Context {
  /** Random key of this call, derived from run, step, task, state and sample; a retry gets the same one. */
  readonly key: Key;
  /** Aborted when the episode is cancelled: stop what was started. */
  readonly signal: AbortSignal;
  readonly services: Services;
  /** No turn follows this one, so nothing has to be prepared for it. Absent: unknown. */
  readonly isLastTurn?: boolean;
}

/** What a caller provides to environments, extended by declaration merging. */
export interface Services {
  /** Runs programs in isolation; opened when the first one runs. */
  readonly sandbox?: Sandbox;
  /** What programs and services did, by the digest of what they were asked: a resumed run asks nothing twice. */
  readonly recorded?: RecordedCalls;
  /** Contents of files, which states name by hash. Absent: an environment keeps them in memory. */
  readonly files?: FileStore;
  /** Opens the tools of roles, when they are first called. */
  readonly tools?: ToolService;
  /** Counts calls of services by their names. */
  readonly log?: ServiceLog;
  /** Where programs that drive themselves ask for what roles say. */
  readonly gateway?: Gateway;
}

/** The reward of one action. An algorithm combines team and local reward as α·team + local. */
export interface ActionReward {
  /** What the team gained by the action, in [0, 1]: the same scale for every seat. */
  readonly team: number;
  /** What the seat did well on its own, in [0, 1]: format, legality, quality. */
  readonly local: number;
  /** The terms of `local`, by name, for people and for tests. */
  readonly parts: Readonly<Record<string, number>>;
  /** The terms that `team` was computed from, on a scale of their own: a published reward before it was normalised. */
  readonly terms?: Readonly<Record<string, number>>;
  /** What is wrong with the action: "no moves found", "bumped into a wall at c4". Absent: nothing. */
  readonly reason?: string;
}

export interface StepResult<State> {
  readonly state: State;
  /** One reward for each seat that acted; null: none yet. A judge may assign one. */
  readonly rewards: Readonly<Record<string, ActionReward | null>>;
  /** The episode is over, whatever the turn limit says. */
  readonly done: boolean;
  /** By seat that acted: what its action's programs and tools did. Absent: nothing. */
  readonly evidence?: Readonly<Record<string, Evidence>>;
}

/** What an action's programs and tools did, recorded with the action for judges and people. */
export interface Evidence {
  /** What they printed. Absent: nothing ran. */
  readonly output?: string;
  /** Files that they made or changed. */
  readonly files?: readonly FileEvidence[];
}

export interface FileEvidence {
  /** In the workspace: `model.pkl`. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** Hash of the content. */
  readonly digest?: string;
  /** About the content, for a reader: "loadable, 120 rows", or how a text begins. */
  readonly note?: string;
}

/** How a program ended that drove itself. */
export interface Driven<State> {
  /** Of which `outcome` and `render` tell. */
  readonly state: State;
  /** What the roles said, in the order of the calls, each with its reward; null: none. */
  readonly replies: readonly (RoleReply & { readonly reward: ActionReward | null })[];
  /** Nothing rewards the episode: it trains nothing, and its outcome does not count. Absent: it is rewarded. */
  readonly isUnrewarded?: boolean;
  /** Why it earned nothing although nobody judged what the roles said, such as a program that fails. Counted. */
  readonly problem?: string;
}

/** A task in words, for judges. Roles see only what `observe` shows. */
export interface TaskDescription {
  readonly problem: string;
  /** The reference answer. Absent: none. */
  readonly truth?: string;
  /** Tasks of a type are judged on one scale: `regression`. Absent: all tasks of the environment are of one type. */
  readonly type?: string;
}

/** The result of an episode: the reward of trajectory-level algorithms, and what evaluation counts. */
export interface Outcome {
  readonly success: boolean;
  /** In [0, 1]; 1 exactly on success. It cannot be raised by splitting or repeating work. */
  readonly score: number;
}

export interface Environment<Task extends Json = Json, State extends Json = Json> {
  readonly name: string;
  /**
   * The seats and what each is for. A team's roles are mapped to seats; a seat may stay empty (a single-agent team
   * leaves the helpers' seats empty).
   */
  readonly seats: Readonly<Record<string, SeatDescription>>;
  /** By split: `train` and `heldOut` at least. No two splits share a task. */
  readonly tasks: Readonly<Record<Split, TaskSource<Task>>>;
  /** Where the tasks of a split are from: runs record it and log a change. Absent: not from a data set. */
  readonly data?: Readonly<Record<string, DataOrigin>>;
  /** Actions are programs, or contain them: a training opens the sandbox before it starts. */
  readonly runsPrograms?: true;
  /** Python packages that they import (`Program.packages`). */
  readonly packages?: PackageSet;
  /** @throws TroupeError if the options need what this machine lacks, such as a service's key. Absent: they need nothing. */
  checkMachine?(): Awaitable<void>;
  /** What a user should know of the chosen options before training. */
  readonly warnings?: readonly OptionWarning[];
  /** What a task from outside must be. Absent: any JSON, and `start` must handle it. */
  readonly taskSchema?: TaskSchema<Task>;
  /** Absent: the rendered first state describes the task. */
  about?(task: Task): Awaitable<TaskDescription>;
  start(task: Task, context: Context): Awaitable<State>;
  /**
   * The seats that act now, simultaneously; an empty list ends the turn. A seat may act any number of times in a turn.
   * Absent: the team's phases decide.
   */
  next?(state: State): readonly string[];
  /** What a seat sees in a state: the user's message of its prompt, or several messages. Data, never markup. */
  observe(state: State, seat: string): string | readonly Message[];
  /** The seats of one phase act simultaneously, from the same state. `replies` has an entry for each of them. */
  step(
    state: State,
    replies: Readonly<Record<string, Reply>>,
    context: Context,
  ): Awaitable<StepResult<State>>;
  /**
   * Plays a whole episode with a program that drives itself: what it asks the gateway for are the actions. `next`, `observe`
   * and `step` then play no part. A program that fails is data, with a low reward and a reason. Absent: the sampler plays.
   */
  drive?(task: Task, open: OpenSession, context: Context): Promise<Driven<State>>;
  /** Of the user's code that rewards what is driven: what ended under other code is played again. */
  readonly graderDigest?: string;
  /** Where such programs reach the roles. Absent: at this machine alone. */
  readonly gateway?: GatewayPlace;
  /**
   * Seats have rewards of their own, which another seat may lose, and the outcome's score is that of the first seat: an
   * algorithm must use rewards of roles. Absent: the seats are a team, and the score is everyone's.
   */
  readonly competes?: true;
  /** Called at the end of a turn, before the next one begins. */
  endTurn?(state: State): State;
  outcome(state: State): Outcome;
  /** The state as a few lines of text for people. */
  render(state: State): string;
  /** Optional parts that games provide. */
  readonly oracle?: Oracle<State>;
}

/** What a solver and a closed vocabulary make possible. Every part may be absent. */
export interface Oracle<State extends Json = Json> {
  /**
   * Every word of the observations and of a solver's actions (what white space separates), for the word-level
   * tokenizer of `troupe init`. Seats' prompts are written for pretrained models and are not included.
   */
  readonly words?: readonly string[];
  /**
   * The seats whose rewards may be added up over the turns of an episode: without success such a seat earns less in
   * total than the solver, however it plays, and repeating a cycle earns nothing. Solving in several turns may earn
   * more than solving at once. Absent: none; rewards are then only for comparing the actions of one state, and training
   * on their sum gives a warning.
   */
  readonly summable?: readonly string[];
  /** What a solver would write in the seat now: the best possible play. Used by tests, bounds and hints in `play`. */
  solve?(state: State, seat: string): string;
  /** Examples made by the solver for the requested seats, from training tasks: the data of a supervised warm start. */
  demonstrations?(key: Key, seats: readonly string[]): Demonstration[];
}

/** A solved example. */
export interface Demonstration {
  readonly seat: string;
  readonly observation: string;
  readonly action: string;
}

export interface OptionWarning {
  /** Of an option: `sandboxSlice`. */
  readonly key: string;
  readonly problem: string;
  /** What to do instead. */
  readonly fix: string;
}

export interface SeatDescription {
  /** One sentence: what the seat does. */
  readonly purpose: string;
  /** The system message a role in this seat gets unless the recipe gives its own. */
  readonly prompt: string;
  /** Most tokens a well-formed action needs, for word-level vocabularies; the default of recipes. */
  readonly maxTokens: number;
  /** Why its roles need `memory: conversation`: "it sees only the output of its last program". Absent: they do not. */
  readonly remembers?: string;
  /** A team without a role in this seat cannot play. */
  readonly required?: true;
  /** Tools that a model in this seat may call; its chat template lists them. */
  readonly tools?: readonly Tool[];
  /** Why no other seat may be filled beside this one: "its route moves the agent". Absent: any may. */
  readonly alone?: string;
  /**
   * Several roles may have this seat and act one after another in a turn: each acts on what the one before left. Absent:
   * one role, because a second action would replace the first.
   */
  readonly repeats?: true;
  /**
   * Actions of this seat may have no reward (null): training them needs a judge, or an algorithm that uses no rewards.
   */
  readonly judged?: true;
}

/** `train`, `validation` (for choices: learning rates, design), `heldOut` (for final numbers), and an environment's own. */
export type Split = "train" | "heldOut" | (string & {});

/** An environment's entry in the registry: creates the environment from checked options. */
export interface EnvironmentDefinition<Options> {
  readonly name: string;
  readonly summary: string;
  /** Parses and checks options (zod), with defaults. */
  readonly options: { parse(input: unknown): Options };
  /** Async because reading a data set may take a while. */
  create(options: Options): Awaitable<Environment>;
  /** Where `create` may download data: the environment without it, with which a recipe is checked before. */
  outline?(options: Options): Awaitable<Environment>;
  /** Options that are paths, or lists of them, relative to the file that sets them, each with the words that are none. */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
  /** An option that is a folder; by default that of the file that sets the option it belongs to. */
  readonly folder?: { readonly option: string; readonly of: string };
  /** An option that by default lists the seats of the recipe's roles. */
  readonly seatsOption?: string;
}
