/**
 * Searches for exploits: reward without doing the work. Here is what holds for several games; what is peculiar to one is
 * in its own `reward-hacking.test.ts` or `rules.test.ts`.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../random.ts";
import { movesBetween } from "./blocksworld/space.ts";
import {
  anyPlan as anyBlocksPlan,
  anyTask as anyBlocks,
  blocksEnvironment,
  taskOf as blocksTask,
} from "./blocksworld/test-blocks.ts";
import type { Setting } from "./conformance/play.ts";
import { unsolvedPlays } from "./conformance/sums.ts";
import { total } from "./conformance/total.ts";
import { completionsOf, type QueensTask } from "./eight-queens/generator.ts";
import { placementOf, writePlan as writeQueens } from "./eight-queens/notation.ts";
import { anyTask as anyQueens, queensEnvironment } from "./eight-queens/test-boards.ts";
import type { Json } from "./environment.ts";
import { gameEnvironment, type Game } from "./game.ts";
import { distancesTo } from "./grid/board.ts";
import { moveWords } from "./grid/cells.ts";
import {
  anyMoves as anyPath,
  anyTask as anyBoard,
  pathEnvironment,
  taskOf as boardTask,
} from "./plan-path/test-boards.ts";
import { createGame, games } from "./registry.ts";
import { dead, moveOnce, movesLeft, onGoals, type RoomPosition } from "./sokoban/room.ts";
import type { SokobanState } from "./sokoban/rules.ts";
import {
  anyMoves as anyPushes,
  anyTask as anyRoom,
  sokobanEnvironment,
  taskOf as roomTask,
} from "./sokoban/test-rooms.ts";
import type { SudokuTask } from "./sudoku/generator.ts";
import { entryOf, writePlan as writeSudoku } from "./sudoku/notation.ts";
import { anyTask as anyGrid, openCells, sudokuEnvironment } from "./sudoku/test-grids.ts";
import { playAll, type Playthrough } from "./test-play.ts";

/** Rounding of sums of doubles; different rewards differ by more. */
const tolerance = 1e-9;

// The total reward of an episode that does not solve its task; docs/writing-an-environment.md quotes the bounds asserted here. The
// search is the conformance kit's.

/** Teams whose seats act simultaneously; in other games one seat acts at a time. */
const together: Readonly<Record<string, readonly (readonly string[])[]>> = { "thin-ice": [["red", "blue"]] };

function settingOf(name: string): Setting {
  const environment = gameEnvironment(createGame(name, {}));
  const phases = together[name] ?? Object.keys(environment.seats).map((seat) => [seat]);
  const common = { turns: 4, tasks: 20, key: rootKey(1), milliseconds: 10_000, services: {} };
  return { environment, seats: phases.flat(), phases, ...common };
}

/**
 * Bounds on the most that the search finds in eight turns; the solver earns 2 with its one action, in Thin Ice 1.65 or
 * more. In the placing games a planner that does not solve comes close to 2: it lacks one placement.
 */
const bounds: Readonly<Record<string, Readonly<Record<string, readonly [number, number]>>>> = {
  "plan-path": { scout: [12, Infinity], planner: [5, Infinity] },
  sudoku: { proposer: [12, Infinity], planner: [1.5, 2] },
  "eight-queens": { proposer: [12, Infinity], planner: [1.5, 2] },
  sokoban: { proposer: [12, Infinity], planner: [4, Infinity] },
  blocksworld: { proposer: [12, Infinity], planner: [4, Infinity] },
  "thin-ice": { red: [1, 1.5], blue: [1, 1.5] },
};

const seats = games.flatMap(({ name }) => settingOf(name).seats.map((seat) => ({ name, seat })));
const planned = games.filter(({ name }) => settingOf(name).seats.includes("planner"));

it.each(seats)(
  "$name pays $seat more than the solver for not solving, unless the seat is summable",
  async ({ name, seat }) => {
    const setting = settingOf(name);
    const most = Math.max(...(await unsolvedPlays(setting, seat)).map(({ earned }) => earned));
    const [low = NaN, high = NaN] = bounds[name]?.[seat] ?? [];
    expect(most).toBeGreaterThan(low);
    expect(most).toBeLessThan(high);
    expect(most < 2).toBe(setting.environment.oracle?.summable?.includes(seat));
  },
);

it.each(planned)("$name pays more for solving step by step than for solving at once", ({ name }) => {
  const { earned } = solvedByStep(name);
  expect(earned).toBeGreaterThan(2);
});

it.each(["sudoku", "eight-queens"])(
  "%s pays shares of 1 for it, except for the team's last reward, which is 1",
  (name) => {
    const { earned, steps } = solvedByStep(name);
    expect(earned).toBeCloseTo(3 - 1 / steps, 9);
  },
);

/** One move or placement of the solver in each turn. */
function solvedByStep(name: string): { readonly earned: number; readonly steps: number } {
  const environment = createGame(name, {});
  let state = environment.start(taskOfSteps(environment, 3));
  const steps = stepsOf(environment.solve(state, "planner"));
  let earned = 0;
  for (const planner of steps) {
    const result = environment.step(state, { planner });
    earned += total(result.rewards["planner"]);
    state = result.state;
  }
  if (!environment.outcome(state).success) throw new Error(`${name} was not solved by ${steps.join(" ")}`);
  return { earned, steps: steps.length };
}

/** Moves or placements; a move of a block is three words. */
function stepsOf(plan: string): string[] {
  return plan.match(/move \S+ \S+|\S+/g) ?? [];
}

/** The first training task whose solution has at least this many steps. */
function taskOfSteps(environment: Game, least: number): Json {
  const tasks = Array.from({ length: 50 }, (_, index) =>
    environment.task("train", childKey(rootKey(1), index)),
  );
  const length = (task: Json) => stepsOf(environment.solve(environment.start(task), "planner")).length;
  return tasks.find((task) => length(task) >= least) ?? null;
}

/** A game whose rewards measure how many actions a shortest solution has left. */
interface DistanceGame<Task extends Json, State extends Json> {
  readonly game: Game<Task, State>;
  readonly anyTask: fc.Arbitrary<Task>;
  readonly anyPlan: fc.Arbitrary<string>;
  /** Most plans of an episode. */
  readonly most: number;
  /** Seats whose solver earns 2 in every state. */
  readonly seats: readonly string[];
  /** Negative: no solution is left. */
  readonly left: (state: State) => number;
  /** The share of the task that is done; 0 where no solution is left. */
  readonly value: (state: State) => number;
  /** The actions of a plan. */
  readonly actionsOf: (plan: string) => readonly string[];
  /** The actions of the plans that can be carried out. */
  readonly carriedOut: (start: State, plans: readonly string[]) => readonly string[];
  /** Every action there is, in a task so small that all plans can be tried. */
  readonly small: {
    readonly task: Task;
    readonly actions: readonly string[];
    readonly longest: number;
    readonly shortest: number;
  };
}

function describeDistances<Task extends Json, State extends Json>(
  name: string,
  { game, anyTask, anyPlan, most, seats: solving, left, value, ...rest }: DistanceGame<Task, State>,
): void {
  const { actionsOf, carriedOut, small } = rest;
  const anyPlans = fc.array(anyPlan, { maxLength: most });
  /** The state after some plans, stopping before the end of the episode. */
  const anyState = fc.tuple(anyTask, fc.array(anyPlan, { maxLength: 3 })).map(([task, plans]) =>
    plans.reduce((state, plan) => {
      const next = game.step(state, { planner: plan });
      return next.done ? state : next.state;
    }, game.start(task)),
  );

  describe(`one action of ${name}`, () => {
    it("earns 2 if it is a shortest solution, otherwise less, in any state of any episode", () => {
      fc.assert(
        fc.property(anyState, anyPlan, (state, plan) => {
          const { state: after, rewards } = game.step(state, { planner: plan });
          const isShortest = left(after) === 0 && actionsOf(plan).length === left(state);
          expect(total(rewards["planner"]) > 2 - tolerance).toBe(isShortest);
          expect(total(rewards["planner"])).toBeLessThan(2 + tolerance);
          expect(rewards["planner"]?.team === 1).toBe(left(after) === 0);
        }),
        { numRuns: 400 },
      );
      fc.assert(
        fc.property(anyState, fc.constantFrom(...solving), (state, seat) => {
          const { rewards } = game.step(state, { [seat]: game.solve(state, seat) });
          expect(total(rewards[seat])).toBeCloseTo(2, 9);
        }),
      );
    });

    it("in a small task: no other plan earns as much as a shortest solution", () => {
      const state = game.start(small.task);
      const earned = [...allPlans(small.actions, small.longest)].map((plan) =>
        total(game.step(state, { planner: plan }).rewards["planner"]),
      );
      const rivals = earned.filter((one) => Math.abs(one - 2) >= tolerance);
      expect(earned.length - rivals.length).toBe(small.shortest);
      expect(Math.max(...rivals)).toBeLessThan(2 - tolerance);
    });

    it("that makes no progress earns at most the format term", () => {
      fc.assert(
        fc.property(anyState, anyPlan, (state, plan) => {
          const { state: after, rewards } = game.step(state, { planner: plan });
          fc.pre(left(after) >= left(state));
          expect(rewards["planner"]?.local).toBeLessThanOrEqual(0.2 + tolerance);
        }),
        { numRuns: 150 },
      );
    });
  });

  describe(`a whole episode of ${name}`, () => {
    it("that never solves earns the team less than 1, however long it is", () => {
      fc.assert(
        fc.property(anyTask, anyPlans, (task, plans) => {
          const { team, state, done } = playAll(game, game.start(task), plans);
          fc.pre(!done || left(state) !== 0);
          expect(team).toBeLessThan(1);
          expect(game.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
        }),
        { numRuns: 150 },
      );
    });

    it("earns the team the value of its best state, once, however often its plans are repeated", () => {
      fc.assert(
        fc.property(anyTask, anyPlans, fc.integer({ min: 1, max: 4 }), (task, plans, times) => {
          const repeated = Array.from({ length: times }, () => plans).flat();
          const { team, state, steps } = playAll(game, game.start(task), repeated);
          fc.pre(left(state) !== 0);
          expect(team).toBeCloseTo(Math.max(0, ...steps.map((step) => value(step.state))), 9);
        }),
        { numRuns: 150 },
      );
    });

    it("has the score of its final state, however the actions are split into plans", () => {
      fc.assert(
        fc.property(anyTask, anyPlans, (task, plans) => {
          const start = game.start(task);
          const actions = carriedOut(start, plans);
          const whole = playAll(game, start, [actions.join(" ")]).state;
          const single = playAll(game, start, actions).state;
          expect([game.outcome(single), left(single)]).toEqual([game.outcome(whole), left(whole)]);
        }),
      );
    });
  });
}

const blocks = blocksEnvironment();
const board = pathEnvironment();
const room = sokobanEnvironment();
const words = (plan: string): string[] => plan.split(" ").filter((word) => word !== "");
const blockMoves = (plan: string): string[] => plan.match(/move \S+ \S+/g) ?? [];

describeDistances("plan-path", {
  game: board,
  anyTask: anyBoard,
  anyPlan: anyPath.map((moves) => moves.join(" ")),
  most: 8,
  seats: ["scout", "planner"],
  left: (state) => distancesTo(state.board)[state.at] ?? 0,
  value: (state) => board.outcome(state).score,
  actionsOf: words,
  carriedOut: (start, plans) =>
    playAll(board, start, plans).steps.flatMap(({ plan, state }) =>
      words(plan).slice(0, state.path.length - 1),
    ),
  small: { task: boardTask("S.. .#. .G."), actions: moveWords, longest: 6, shortest: 1 },
});

describeDistances("sokoban", {
  game: room,
  anyTask: anyRoom,
  anyPlan: anyPushes.map((moves) => moves.join(" ")),
  most: 10,
  seats: ["proposer", "planner"],
  left: (state) => movesLeft(state.room, state.at, state.boxes),
  value: (state) =>
    movesLeft(state.room, state.at, state.boxes) === dead
      ? 0
      : onGoals(state.room, state.boxes) / state.boxes.length,
  actionsOf: words,
  carriedOut: (start, plans) => possibleMoves(start, plans.flatMap(words)),
  small: { task: roomTask("##### #-@-# #-$-# #--.# #####"), actions: moveWords, longest: 6, shortest: 1 },
});

describeDistances("blocksworld", {
  game: blocks,
  anyTask: anyBlocks,
  anyPlan: anyBlocksPlan,
  most: 8,
  seats: ["proposer", "planner"],
  left: ({ on, goal }) => movesBetween(on, goal),
  value: ({ on, goal, atStart }) => (atStart - movesBetween(on, goal)) / atStart,
  actionsOf: blockMoves,
  carriedOut: (start, plans) =>
    playAll(blocks, start, plans).steps.flatMap(({ plan, state }) =>
      blockMoves(plan).slice(0, state.moved.length),
    ),
  small: {
    task: blocksTask("ac b", "cba"),
    actions: ["a", "b", "c"].flatMap((block) => ["a", "b", "c", "table"].map((to) => `move ${block} ${to}`)),
    longest: 4,
    shortest: 1,
  },
});

/** The possible moves in sequence, until the room is solved or dead. */
function possibleMoves({ room: inside, at, boxes }: SokobanState, moves: readonly string[]): string[] {
  let here: RoomPosition = { at, boxes };
  return moves.filter((word) => {
    if (movesLeft(inside, here.at, here.boxes) <= 0) return false;
    const moved = moveOnce(inside, here, moveWords.indexOf(word as "up"));
    if ("problem" in moved) return false;
    here = moved;
    return true;
  });
}

function* allPlans(actions: readonly string[], longest: number): Iterable<string> {
  let plans: readonly string[] = [""];
  for (let length = 1; length <= longest; length++) {
    plans = plans.flatMap((plan) => actions.map((action) => `${plan} ${action}`.trim()));
    yield* plans;
  }
}

/** A game in which cells are filled, and rewards measure how many of them are right. */
interface PlacingGame<Task extends Json, State extends Json> {
  readonly game: Game<Task, State>;
  readonly anyEpisode: (
    most: number,
  ) => fc.Arbitrary<{ readonly task: Task; readonly plans: readonly string[] }>;
  /** Empties every cell that was open at the start. */
  readonly emptied: (task: Task) => string;
  readonly most: number;
  readonly runs: { readonly action: number; readonly episode: number; readonly cycle: number };
}

function describePlacing<Task extends Json, State extends Json>(
  name: string,
  { game, anyEpisode, emptied, most, runs }: PlacingGame<Task, State>,
): void {
  const played = (task: Task, plans: readonly string[]): Playthrough<State> =>
    playAll(game, game.start(task), plans);

  it(`one action of ${name} earns at most what the solver's earns, in any state of any episode`, () => {
    fc.assert(
      fc.property(anyEpisode(4), ({ task, plans }) => {
        const { state, done } = played(task, plans.slice(0, -1));
        fc.pre(!done);
        const best = game.step(state, { planner: game.solve(state, "planner") });
        const other = game.step(state, { planner: plans.at(-1) ?? "" });
        expect(best.done).toBe(true);
        expect(total(other.rewards["planner"])).toBeLessThanOrEqual(
          total(best.rewards["planner"]) + tolerance,
        );
        expect(other.rewards["planner"]?.team === 1).toBe(other.done);
      }),
      { numRuns: runs.action },
    );
  });

  describe(`a whole episode of ${name}`, () => {
    it("that does not solve earns less in total than the solver's one action, however long it is", () => {
      fc.assert(
        fc.property(anyEpisode(most), ({ task, plans }) => {
          const { done, earned, team, state } = played(task, plans);
          fc.pre(!done);
          expect(team).toBeLessThan(1);
          expect(earned).toBeLessThan(2);
          expect(game.outcome(state).score).toBeLessThanOrEqual(team + tolerance);
        }),
        { numRuns: runs.episode },
      );
    });

    it("gains nothing by cycling: what is removed and placed again earns nothing", () => {
      fc.assert(
        fc.property(anyEpisode(3), fc.integer({ min: 1, max: 4 }), ({ task, plans }, times) => {
          const once = played(task, plans);
          fc.pre(!once.done);
          const round = [...plans, emptied(task)];
          const often = played(task, Array.from({ length: times + 1 }, () => round).flat());
          expect(often.earned).toBeCloseTo(once.earned, 9);
        }),
        { numRuns: runs.cycle },
      );
    });
  });
}

/** Half of the entries are right, so that plans make progress. */
const anyEntries = (task: SudokuTask): fc.Arbitrary<string> => {
  const open = fc.constantFrom(...openCells(task.clues));
  const right = open.map((cell) => entryOf(task.size, cell, Number(task.solution[cell])));
  const wild = fc.nat({ max: task.size ** 2 * (task.size + 1) - 1 });
  const cleared = open.map((cell) => entryOf(task.size, cell, 0));
  return fc
    .array(fc.oneof({ weight: 4, arbitrary: right }, wild, cleared), { maxLength: 14 })
    .map((entries) => writeSudoku("entries", task.size, entries));
};

describePlacing("sudoku", {
  game: sudokuEnvironment(),
  anyEpisode: (longest) =>
    anyGrid([4]).chain((task) =>
      fc.array(anyEntries(task), { minLength: 1, maxLength: longest }).map((plans) => ({ task, plans })),
    ),
  emptied: ({ size, clues }) =>
    writeSudoku(
      "entries",
      size,
      openCells(clues).map((cell) => entryOf(size, cell, 0)),
    ),
  most: 12,
  runs: { action: 300, episode: 200, cycle: 100 },
});

/** Queens of one solution, any others, and rows to empty. */
const anyPlacements = (task: QueensTask): fc.Arbitrary<string> => {
  const line = fc.nat({ max: 7 });
  const right = fc
    .tuple(line, fc.constantFrom(...completionsOf(task).slice(0, 2)))
    .map(([at, solution]) => placementOf(8, at, (solution.codePointAt(at) ?? 97) - 97));
  const wild = fc
    .tuple(line, fc.integer({ min: -1, max: 7 }))
    .map(([at, column]) => placementOf(8, at, column));
  return fc
    .array(fc.oneof({ weight: 3, arbitrary: right }, wild), { maxLength: 10 })
    .map((placements) => writeQueens("queens", 8, placements));
};

describePlacing("eight-queens", {
  game: queensEnvironment(),
  anyEpisode: (longest) =>
    anyQueens.chain((task) =>
      fc.array(anyPlacements(task), { minLength: 1, maxLength: longest }).map((plans) => ({ task, plans })),
    ),
  emptied: ({ given }) =>
    writeQueens(
      "queens",
      8,
      given.split("").flatMap((column, line) => (column === "." ? [placementOf(8, line, -1)] : [])),
    ),
  most: 10,
  runs: { action: 200, episode: 150, cycle: 100 },
});

it("the placing games pay the solver 2 at the start of every task", () => {
  fc.assert(
    fc.property(fc.oneof(anyGrid([4, 6, 9]), anyQueens), (task) => {
      const earned =
        "clues" in task
          ? solverEarns(sudokuEnvironment({ size: task.size }), task)
          : solverEarns(queensEnvironment(), task);
      expect(earned).toBeCloseTo(2, 9);
    }),
    { numRuns: 120 },
  );
});

function solverEarns<Task extends Json, State extends Json>(game: Game<Task, State>, task: Task): number {
  const state = game.start(task);
  const { rewards } = game.step(state, { planner: game.solve(state, "planner") });
  return total(rewards["planner"]);
}
