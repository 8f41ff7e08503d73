/**
 * Runs an episode: start, joint action, end of turn, end of episode. Shared by the sampler, `play`, `score`, replays
 * and the conformance kit, so that what is trained is what is tested.
 */
import { TroupeError } from "../errors.ts";
import { checkNext, checkStep } from "./contract.ts";
import { blaming } from "./origin.ts";
import type { Context, Environment, Json, Reply, Services, StepResult } from "./environment.ts";

/** Who acts in which order, and for how many turns. */
export interface Schedule {
  /** The seats of each phase of a turn. Ignored if the environment decides who acts (`next`). */
  readonly phases: readonly (readonly string[])[];
  readonly turns: number;
}

/** A position in an episode. */
export interface Position<State extends Json = Json> {
  readonly state: State;
  /** The next turn and phase, counted from 0. */
  readonly turn: number;
  readonly phase: number;
  readonly done: boolean;
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
  { state, phase }: Pick<Position, "state" | "phase">,
): readonly string[] {
  return nextSeats(environment, state) ?? phases[phase] ?? [];
}

/** Undefined: the phases decide. */
function nextSeats(environment: Environment, state: Json): readonly string[] | undefined {
  return environment.next === undefined ? undefined : checkNext(environment, environment.next(state));
}

export interface Advanced {
  readonly position: Position;
  /** The environment's result, with the state before the end of the turn. */
  readonly result: StepResult<Json>;
}

/**
 * Plays one joint action.
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
