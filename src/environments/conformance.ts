/**
 * What every environment must pass, for any test runner:
 *
 * ```ts
 * for (const { name, run } of await conformanceChecks(definition)) it(name, run);
 * ```
 *
 * Each check rejects with an Error that says what is wrong. Not covered: whether the task is worth learning, and
 * exploits of the reward that neither the solver nor random words find; an environment tests those itself.
 */
import { z } from "zod";
import { checkArgument, strict } from "../arguments.ts";
import { TroupeError } from "../errors.ts";
import { rootKey } from "../random.ts";
import { anythingIsAnAction, garbageHasReason, garbageStaysSmall } from "./conformance/garbage.ts";
import type { Setting } from "./conformance/play.ts";
import { judgedSeats, rewardsEachSeat, sumOfParts, withinBounds } from "./conformance/rewards.ts";
import { solverIsBest, solverSolves, solverWords } from "./conformance/solver.ts";
import { drawn, neverChanged, sameEpisode, staysOver, surviveJson } from "./conformance/states.ts";
import { sumsPayForSolving } from "./conformance/sums.ts";
import {
  demonstrated,
  describedSeats,
  disjointSplits,
  observationWords,
  properWords,
} from "./conformance/tasks.ts";
import type { Environment, EnvironmentDefinition, Oracle, Services } from "./environment.ts";

export interface ConformanceOptions {
  /** The environment's own options, as in a recipe. Default: {}. */
  readonly options?: unknown;
  /** Seats in the order in which they act in a turn. Default: all that may share a team, in the order of `seats`. */
  readonly seats?: readonly string[];
  /** Instead of `seats`: the seats of each phase, which act simultaneously. Default: one seat per phase. */
  readonly phases?: readonly (readonly string[])[];
  /** Turns within which the solver must end an episode. Default: 4. */
  readonly turns?: number;
  /** Tasks drawn from each split, and bound on the episodes of each check. Default: 200. */
  readonly tasks?: number;
  readonly seed?: number;
  /** Time limit for one action. Far above what it needs: a limit, not a measurement. */
  readonly milliseconds?: number;
  /** The services in the environment's context. */
  readonly services?: Services;
}

export interface ConformanceCheck {
  readonly name: string;
  /** Rejects with an Error that says what is wrong. */
  readonly run: () => Promise<void>;
}

/** Without tasks, every check would pass. */
const optionsSchema = strict({
  options: z.unknown().optional(),
  seats: z.array(z.string()).optional(),
  phases: z.array(z.array(z.string())).optional(),
  turns: z.int().min(1).optional(),
  tasks: z.int().min(1).optional(),
  seed: z.int().optional(),
  milliseconds: z.number().positive().optional(),
  services: z.unknown().optional(),
});

/** The checks that apply to a definition: some need a solver, words, summable seats or demonstrations. */
export async function conformanceChecks<Options>(
  definition: EnvironmentDefinition<Options>,
  given: ConformanceOptions = {},
): Promise<ConformanceCheck[]> {
  checkArgument("given", optionsSchema, given);
  const environment = await definition.create(ownOptions(definition, given.options ?? {}));
  const phases = given.phases ?? (given.seats ?? seatsTogether(environment)).map((seat) => [seat]);
  const setting: Setting = {
    environment,
    seats: phases.flat(),
    phases,
    turns: given.turns ?? 4,
    tasks: given.tasks ?? 200,
    key: rootKey(given.seed ?? 1),
    milliseconds: given.milliseconds ?? 10_000,
    services: given.services ?? {},
  };
  return Object.entries(checksFor(environment.oracle)).map(([name, check]) => ({
    name,
    run: () => check(setting),
  }));
}

/** @throws TroupeError `bad_arguments` */
function ownOptions<Options>({ options }: EnvironmentDefinition<Options>, given: unknown): Options {
  try {
    return options.parse(given);
  } catch (cause) {
    const problem = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new TroupeError("bad_arguments", `given.options: ${problem}`, { cause });
  }
}

/** All seats; if some play alone (`SeatDescription.alone`), all others. */
function seatsTogether({ seats }: Environment): readonly string[] {
  const names = Object.keys(seats);
  const together = names.filter((name) => seats[name]?.alone === undefined);
  return together.length > 0 ? together : names;
}

type Check = (setting: Setting) => Promise<void>;

function checksFor(oracle: Oracle | undefined): Record<string, Check> {
  const solves = oracle?.solve !== undefined;
  const knowsWords = oracle?.words !== undefined;
  return {
    ...always,
    ...(knowsWords ? withWords : {}),
    ...(solves ? withSolver : {}),
    ...(solves && knowsWords ? withSolverAndWords : {}),
    ...(solves && oracle.summable?.length ? withSums : {}),
    ...(oracle?.demonstrations === undefined ? {} : withDemonstrations),
  };
}

const always: Record<string, Check> = {
  "the same seed gives the same episode": sameEpisode,
  "states are never changed": neverChanged,
  "states survive JSON": surviveJson,
  "a finished episode stays finished": staysOver,
  "every state can be rendered": drawn,
  "rewards and scores are within bounds": withinBounds,
  "the local reward is the sum of its parts": sumOfParts,
  "exactly the seats that acted are rewarded": rewardsEachSeat,
  "seats whose actions may have no reward say so": judgedSeats,
  "any text is an action": anythingIsAnAction,
  "a million characters are not stored or shown": garbageStaysSmall,
  "no two splits share a task": disjointSplits,
  "seats are described": describedSeats,
};

const withWords: Record<string, Check> = {
  "observations use the environment's words": observationWords,
  "words are valid": properWords,
};

const withSolver: Record<string, Check> = {
  "garbage gets a reason": garbageHasReason,
  "the solver succeeds within the turn limit": solverSolves,
};

const withSolverAndWords: Record<string, Check> = {
  "no action earns more than the solver's": solverIsBest,
  "the solver respects words and lengths": solverWords,
};

const withSums: Record<string, Check> = {
  "summable rewards pay only for solving": sumsPayForSolving,
};

const withDemonstrations: Record<string, Check> = {
  "demonstrations are for the requested seats": demonstrated,
};
