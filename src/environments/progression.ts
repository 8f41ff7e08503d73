/**
 * Runs an episode: start, joint action, end of turn, end of episode. Shared by the sampler, `play`, `score`, replays
 * and the conformance kit, so that what is trained is what is tested.
 */
import { TroupeError } from "../errors.ts";
import { checkNext, checkObservation, checkStep } from "./contract.ts";
import { blaming } from "./origin.ts";
import type { Context, Environment, Json, Message, Reply, Services, StepResult } from "./environment.ts";
import { type Called, callTools, type Pending, type RoleTools } from "./tool-use.ts";

/** Who acts in which order, and for how many turns. */
export interface Schedule {
  /** The seats of each phase of a turn. Ignored if the environment decides who acts (`next`). */
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
  /** The tools of the role that acts in the seat in a phase. Absent: no role has any. */
  readonly toolsOf?: (phase: number, seat: string) => RoleTools | undefined;
}

/** A position in an episode. */
export interface Position<State extends Json = Json> {
  readonly state: State;
  /** The next turn and phase, counted from 0. */
  readonly turn: number;
  readonly phase: number;
  readonly done: boolean;
  /** Tools have answered seats of this phase, which act again. Absent: the phase begins. */
  readonly pending?: Pending;
}

/** Bounds a turn that the environment never ends. */
const mostPhases = 1000;

export async function startEpisode(
  environment: Environment,
  task: Json,
  context: Context,
): Promise<Position> {
  const state = await blaming(environment, "start", () => environment.start(task, context));
  return { state, turn: 0, phase: 0, done: false };
}

/** The seats that act next, simultaneously. @throws TroupeError `internal` if an environment names none */
export function seatsToAct(
  environment: Environment,
  schedule: Schedule,
  position: Position,
): readonly string[] {
  const seats = namedSeats(environment, schedule, position);
  if (seats.length > 0) return seats;
  throw new TroupeError("internal", `no seat acts in ${environment.name}, but the episode is not done`);
}

/** As `seatsToAct`, without the demand that there is one. */
export function namedSeats(
  environment: Environment,
  { phases }: Schedule,
  { state, phase, pending }: Pick<Position, "state" | "phase" | "pending">,
): readonly string[] {
  if (pending !== undefined) return Object.keys(pending.answered);
  return nextSeats(environment, state) ?? phases[phase] ?? [];
}

/** Undefined: the phases decide. */
function nextSeats(environment: Environment, state: Json): readonly string[] | undefined {
  return environment.next === undefined ? undefined : checkNext(environment, environment.next(state));
}

/** What a seat sees: the environment's observation, or what its tools answered. */
export function observationOf(
  environment: Environment,
  { state, pending }: Pick<Position, "state" | "pending">,
  seat: string,
): string | readonly Message[] {
  const answered = pending?.answered[seat];
  return answered?.messages ?? checkObservation(environment, seat, environment.observe(state, seat));
}

export interface Advanced {
  readonly position: Position;
  /** The environment's result, with the state before the end of the turn. */
  readonly result: StepResult<Json>;
}

/**
 * Plays one joint action. If it calls tools, they answer, and the environment does not step yet: those seats act again.
 * @param replies one for each of `seatsToAct`
 * @throws TroupeError `internal` if the environment breaks its contract, and whatever the environment throws
 */
export async function advance(
  environment: Environment,
  schedule: Schedule,
  position: Position,
  replies: Readonly<Record<string, Reply>>,
  context: Context,
): Promise<Advanced> {
  const toolsOf = (seat: string): RoleTools | undefined => schedule.toolsOf?.(position.phase, seat);
  const called = await callTools(environment, toolsOf, replies, position.pending, context);
  if (Object.keys(called).length > 0) return pendingAfter(position, replies, called);
  const { pending: _, ...place } = position;
  return stepAll(environment, schedule, place, { ...position.pending?.replies, ...replies }, context);
}

/** The environment has not stepped: the seats whose calls were answered act next. */
function pendingAfter(
  position: Position,
  replies: Readonly<Record<string, Reply>>,
  called: Readonly<Record<string, Called>>,
): Advanced {
  const { state } = position;
  const seats = Object.keys(replies);
  const final = Object.entries(replies).filter(([seat]) => called[seat] === undefined);
  const pending: Pending = {
    answered: Object.fromEntries(
      Object.entries(called).map(([seat, { messages, calls }]) => [seat, { messages, calls }]),
    ),
    replies: { ...position.pending?.replies, ...Object.fromEntries(final) },
  };
  const rewards = Object.fromEntries(seats.map((seat) => [seat, called[seat]?.reward ?? null]));
  const evidence = Object.fromEntries(
    Object.entries(called).map(([seat, { messages }]) => [seat, { output: outputOf(messages) }]),
  );
  return { position: { ...position, pending }, result: { state, rewards, done: false, evidence } };
}

function outputOf(messages: readonly Message[]): string {
  return messages.map(({ content }) => content).join("\n\n");
}

/** @param replies the final one of every seat of the phase */
async function stepAll(
  environment: Environment,
  schedule: Schedule,
  position: Position,
  replies: Readonly<Record<string, Reply>>,
  context: Context,
): Promise<Advanced> {
  const isLastTurn = position.turn + 1 >= schedule.turns;
  const given = await blaming(environment, "step", () =>
    environment.step(position.state, replies, { ...context, isLastTurn }),
  );
  const result = checkStep(environment, Object.keys(replies), given);
  const { state, done } = result;
  const endsTurn = isTurnOver(environment, schedule, position, { state, done });
  const turn = endsTurn ? position.turn + 1 : position.turn;
  const next: Position = {
    state: endsTurn && !done ? (environment.endTurn?.(state) ?? state) : state,
    turn,
    phase: endsTurn ? 0 : position.phase + 1,
    done: done || turn >= schedule.turns,
  };
  return { position: next, result };
}

function isTurnOver(
  environment: Environment,
  { phases }: Schedule,
  { phase }: Position,
  { state, done }: Pick<Position, "state" | "done">,
): boolean {
  if (environment.next === undefined) return phase + 1 === phases.length;
  if (done || nextSeats(environment, state)?.length === 0) return true;
  if (phase + 1 < mostPhases) return false;
  throw new TroupeError(
    "internal",
    `a turn of ${environment.name} has ${mostPhases} joint actions; let \`next\` return no seat at the end of a turn`,
  );
}

/** A context for calls outside a run, such as in tests and in `play`. */
export function plainContext(
  key: Context["key"],
  signal: AbortSignal = never,
  services: Services = {},
): Context {
  return { key, signal, services };
}

const never = new AbortController().signal;

/** A reply of plain text. */
export function plainReply(text: string): Reply {
  return { text, truncated: false };
}
