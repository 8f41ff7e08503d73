/** Rewards of existing actions: replays their episode without a model and without a team. */
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { childKey, extendedName, keyAt, type Key } from "../random.ts";
import { retrying, standardRetries, type RetryOptions } from "../calls/retry.ts";
import { checkOutcome } from "./contract.ts";
import type { ActionReward, Environment, Json, Outcome, Reply, Services } from "./environment.ts";
import {
  advance,
  plainContext,
  seatsToAct,
  startEpisode,
  type Position,
  type Schedule,
} from "./progression.ts";

/** What the seats that act simultaneously wrote, by seat. */
export type JointReplies = Readonly<Record<string, Reply>>;

/** The seats of each phase of a turn. */
export type Phases = readonly (readonly string[])[];

export interface ScoreSetting {
  /**
   * The episode's key. Calls of the environment get the same keys as when the sampler evaluates that episode, so that
   * the environment draws the same random numbers.
   */
  readonly key: Key;
  /** Of the team's turn, if there is a team. */
  readonly phases?: Phases | undefined;
  /** The tools of the team's roles: they answer calls, and the seat's next action continues its phase. */
  readonly toolsOf?: Schedule["toolsOf"] | undefined;
  readonly retries?: RetryOptions;
  readonly signal?: AbortSignal;
  /** What the environment is lent. Default: nothing. */
  readonly services?: Services;
}

export interface Scored {
  /** One per joint action, by seat; null: left to a judge, or the action calls a tool. */
  readonly rewards: readonly Readonly<Record<string, ActionReward | null>>[];
  readonly outcome: Outcome;
}

/**
 * There is no turn limit, and actions after the end of the episode earn whatever the environment gives them.
 * @throws TroupeError `bad_arguments` if an action is by seats that do not act there, and whatever the environment
 * throws
 */
export async function scoreActions(
  environment: Environment,
  task: Json,
  actions: readonly JointReplies[],
  setting: ScoreSetting,
): Promise<Scored> {
  const { key, retries = standardRetries, signal, services } = setting;
  const start = plainContext(keyAt(key, "start"), signal, services);
  let position = await retrying(() => startEpisode(environment, task, start), retries, signal);
  const schedules = schedulesOf(actions, setting);
  const rewards: Record<string, ActionReward | null>[] = [];
  let node = childKey(key, "");
  for (const [index, replies] of actions.entries()) {
    const from = position;
    const schedule = schedules[index] as Schedule;
    checkSeats(environment, schedule, position, replies, index + 1);
    const context = plainContext(keyAt(node, "step", 0), signal, services);
    const step = () => advance(environment, schedule, from, replies, context);
    const { position: next, result } = await retrying(step, retries, signal);
    rewards.push(rewardsOf(replies, result.rewards));
    if (next.pending === undefined) rewardWaiting(rewards, from, result.rewards);
    position = next;
    // The sampler's names of the nodes of an episode with one trajectory: "", "0", "0.0", …
    node = extendedName(node, index === 0 ? "0" : ".0");
  }
  return { rewards, outcome: outcomeOf(environment, position) };
}

type Rewards = Readonly<Record<string, ActionReward | null>>;

function rewardsOf(replies: JointReplies, rewards: Rewards): Record<string, ActionReward | null> {
  return Object.fromEntries(Object.keys(replies).map((seat) => [seat, rewards[seat] ?? null]));
}

/** Replies that waited for a seat that called tools are rewarded with its reply. */
function rewardWaiting(
  all: Record<string, ActionReward | null>[],
  { pending }: Position,
  rewards: Rewards,
): void {
  for (const seat of Object.keys(pending?.replies ?? {})) {
    const waited = all.findLast((one) => seat in one);
    if (waited !== undefined) waited[seat] = rewards[seat] ?? null;
  }
}

/** If tools are called, the team's phases, which tell a continued phase from the next one. */
function schedulesOf(
  actions: readonly JointReplies[],
  { phases = [], toolsOf }: ScoreSetting,
): readonly Schedule[] {
  const hasTools = (seat: string) => [0, ...phases.keys()].some((phase) => toolsOf?.(phase, seat));
  const callsTools = actions.some((replies) =>
    Object.entries(replies).some(([seat, { calls = [] }]) => calls.length > 0 && hasTools(seat)),
  );
  if (toolsOf !== undefined && callsTools) return actions.map(() => ({ phases, turns: Infinity, toolsOf }));
  return turnsOf(actions, phases).map((turn) => ({ phases: turn, turns: Infinity }));
}

/**
 * The phases of each action's turn: the team's if all actions follow them; otherwise a turn ends when a seat acts
 * again.
 */
function turnsOf(actions: readonly JointReplies[], phases: Phases): readonly Phases[] {
  const acting = actions.map((replies) => Object.keys(replies));
  if (phases.length > 0 && acting.every((seats, index) => areSame(seats, phases[index % phases.length]))) {
    return acting.map(() => phases);
  }
  const turns: string[][][] = [];
  return acting.map((seats) => {
    const last = turns.at(-1);
    const isNew = last === undefined || last.flat().some((seat) => seats.includes(seat));
    const turn = isNew ? [] : last;
    if (isNew) turns.push(turn);
    turn.push(seats);
    return turn;
  });
}

function areSame(seats: readonly string[], others: readonly string[] = []): boolean {
  return seats.length === others.length && seats.every((seat) => others.includes(seat));
}

/** @param number of the action, from 1 */
function checkSeats(
  environment: Environment,
  schedule: Schedule,
  position: Position,
  replies: JointReplies,
  number: number,
): void {
  const known = Object.keys(environment.seats);
  const acting = Object.keys(replies);
  const unknown = acting.find((seat) => !known.includes(seat));
  if (acting.length === 0) throw wrongSeat(`action ${number} names no seat; ${seatList(known)}`);
  if (unknown !== undefined) {
    const hint = didYouMean(unknown, known) ?? seatList(known);
    throw wrongSeat(
      `action ${number} names the seat ${unknown}, which ${environment.name} does not have; ${hint}`,
    );
  }
  const isFree = environment.next === undefined && schedule.toolsOf === undefined;
  if (isFree || position.done) return;
  const expected = seatsToAct(environment, schedule, position);
  if (!areSame(acting, expected)) {
    throw wrongSeat(
      `action ${number} is by ${acting.join(" and ")}, but ${expected.join(" and ")} acts there`,
    );
  }
}

function seatList(known: readonly string[]): string {
  return `the seats are ${known.join(", ")}`;
}

function wrongSeat(message: string): TroupeError {
  return new TroupeError("bad_arguments", message);
}

function outcomeOf(environment: Environment, { state }: Position): Outcome {
  const { success, score } = checkOutcome(environment, environment.outcome(state));
  return { success, score };
}
