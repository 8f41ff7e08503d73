/**
 * What every environment must pass, for any test runner:
 *
 * ```ts
 * for (const { name, run } of conformanceChecks(definition)) it(name, () => expect(run).not.toThrow());
 * ```
 *
 * Each check throws an Error that says what is wrong. Not covered: whether the task is worth learning, and whether
 * rewards can be farmed by play that neither the solver nor random words find; an environment tests that itself.
 */
import { rootKey } from "../random.ts";
import { garbageHasReason, garbageStaysSmall, noMarkup } from "./conformance/garbage.ts";
import type { Setting } from "./conformance/play.ts";
import { rewardsEachSeat, sumOfParts, withinBounds } from "./conformance/rewards.ts";
import { solverIsBest, solverSolves, solverWords } from "./conformance/solver.ts";
import { drawn, neverChanged, sameEpisode, staysOver, surviveJson } from "./conformance/states.ts";
import { sumsPayForSolving } from "./conformance/sums.ts";
import { demonstrated, describedSeats, disjointSplits, observationWords } from "./conformance/tasks.ts";
import type { EnvironmentDefinition } from "./environment.ts";

export interface ConformanceOptions {
  /** The environment's own options, as a recipe gives them. Default: {}. */
  readonly options?: unknown;
  /** Seats in the order in which they act in a turn. Default: all, in the order of `seats`. */
  readonly seats?: readonly string[];
  /** Turns within which the solver ends an episode. Default: 4. */
  readonly turns?: number;
  /** Tasks drawn from each split. Default: 200. */
  readonly tasks?: number;
  readonly seed?: number;
  /** What one action may keep the environment busy; a limit far above what it needs, not a measurement. */
  readonly milliseconds?: number;
}

export interface ConformanceCheck {
  readonly name: string;
  /** @throws Error that says what is wrong. */
  readonly run: () => void;
}

/** The checks for a definition; those of a solver, of sums and of demonstrations only where the environment has them. */
export function conformanceChecks<Options>(
  definition: EnvironmentDefinition<Options>,
  given: ConformanceOptions = {},
): ConformanceCheck[] {
  const environment = definition.create(definition.options.parse(given.options ?? {}));
  const setting: Setting = {
    environment,
    seats: given.seats ?? Object.keys(environment.seats),
    turns: given.turns ?? 4,
    tasks: given.tasks ?? 200,
    key: rootKey(given.seed ?? 1),
    milliseconds: given.milliseconds ?? 10_000,
  };
  const checks = {
    ...always,
    ...(environment.solve === undefined ? {} : withSolver),
    ...(environment.solve === undefined || !environment.summable?.length ? {} : withSums),
    ...(environment.demonstrations === undefined ? {} : withDemonstrations),
  };
  return Object.entries(checks).map(([name, check]) => ({ name, run: () => check(setting) }));
}

type Check = (setting: Setting) => void;

const always: Record<string, Check> = {
  "the same seed gives the same episode": sameEpisode,
  "states are never changed": neverChanged,
  "states survive JSON": surviveJson,
  "an episode that is over stays over": staysOver,
  "every state can be drawn": drawn,
  "rewards and scores are within their bounds": withinBounds,
  "the local reward is the sum of its parts": sumOfParts,
  "the seats that acted are rewarded, and no others": rewardsEachSeat,
  "garbage is an action with a reason": garbageHasReason,
  "a million characters stay small": garbageStaysSmall,
  "observations show no control markup of an action": noMarkup,
  "train and held-out tasks are disjoint": disjointSplits,
  "observations consist of the environment's words": observationWords,
  "seats are described": describedSeats,
};

const withSolver: Record<string, Check> = {
  "the solver ends every episode with success in time": solverSolves,
  "no action earns more than the solver's": solverIsBest,
  "the solver keeps to the environment's words and lengths": solverWords,
};

const withSums: Record<string, Check> = {
  "rewards that may be added up pay for solving": sumsPayForSolving,
};

const withDemonstrations: Record<string, Check> = {
  "demonstrations are made for the seats asked for": demonstrated,
};
