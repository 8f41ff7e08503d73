/** What is promised of every game's options and tasks, beyond the conformance kit. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { TroupeError } from "../errors.ts";
import { mean } from "../statistics.ts";
import { keyAt, rootKey } from "../random.ts";
import type { Json } from "./environment.ts";
import type { Game } from "./game.ts";
import { createEnvironment, createGame, environmentNamed, environments, games } from "./registry.ts";
import type { GameSplit } from "./tasks.ts";

/** Any UTF-16 code unit, half a character included. (The unit "binary" takes two seconds to begin.) */
const unit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const splits: readonly GameSplit[] = ["train", "validation", "heldOut"];

function drawn(game: Game, count: number): readonly Json[] {
  return Array.from({ length: count }, (_, seed) =>
    game.task(splits[seed % 3] ?? "train", keyAt(rootKey(seed), "task-schema")),
  );
}

/** Replaces or removes a value anywhere in the task. */
function changed(task: Json, at: number, value: Json | undefined): Json {
  let seen = 0;
  const visit = (node: Json): Json | undefined => {
    if (seen++ === at) return value;
    if (Array.isArray(node)) return node.map(visit).filter((each) => each !== undefined);
    if (typeof node !== "object" || node === null) return node;
    const entries = Object.entries(node).map(([key, each]) => [key, visit(each)] as const);
    return Object.fromEntries(entries.filter(([, each]) => each !== undefined)) as Json;
  };
  return visit(task) ?? null;
}

/** Tasks from outside, as `troupe score` reads them. */
describe.each(games)("a task of $name", ({ name }) => {
  const game = createGame(name, {});
  const tasks = drawn(game, 60);
  const seats = Object.keys(game.seats).filter((seat) => game.seats[seat]?.alone === undefined);
  const accepts = (task: Json): boolean => {
    try {
      game.taskSchema?.parse(task);
      return true;
    } catch {
      return false;
    }
  };

  it("is accepted as drawn, in any split", () => {
    for (const task of tasks) expect(game.taskSchema?.parse(JSON.parse(JSON.stringify(task)))).toEqual(task);
  });

  it.each([null, 4, "task", [], {}, { size: 4 }, { board: {} }, { __proto__: null }])("is not %j", (task) => {
    expect(accepts(task as Json)).toBe(false);
  });

  it("that is accepted can be played, and is not solved at the start", () => {
    const anyValue = fc.oneof(
      fc.constantFrom<Json | undefined>(undefined, null, -1, 0, 1, 7, 1e9, 0.5, "", ".", "#", "ab", [], {}),
      fc.array(fc.integer({ min: -2, max: 8 }), { maxLength: 6 }),
      fc.integer({ min: -1, max: 120 }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...tasks), fc.nat(30), anyValue, (from, at, value) => {
        const task = changed(from, at, value);
        fc.pre(accepts(task));
        const state = game.start(task);
        expect(game.outcome(state)).toEqual({ success: false, score: 0 });
        const solved = seats.map((seat) => [seat, game.solve(state, seat)] as const);
        const { rewards } = game.step(state, Object.fromEntries(solved));
        for (const seat of seats) expect(rewards[seat]?.team).toBe(1);
      }),
      { numRuns: 100 },
    );
  });

  it("rarely repeats", () => {
    expect(new Set(tasks.map((task) => JSON.stringify(task))).size).toBeGreaterThan(50);
  });

  it("may be answered with any text: no exception, and a state of bounded size", () => {
    const pieces = [
      ...game.words,
      ..."[ ] [[ ]] ( ) { } , 1 12 -3 \" ' : = #### move".split(" "),
      "",
      "\n",
      "\0",
    ];
    const anyText = fc.oneof(
      fc.string({ unit, maxLength: 200 }),
      fc
        .tuple(fc.array(fc.constantFrom(...pieces), { maxLength: 80 }), fc.constantFrom("", " "))
        .map(([all, gap]) => all.join(gap)),
    );
    const state = game.start(tasks[0] ?? null);
    fc.assert(
      fc.property(anyText, (text) => {
        for (const seat of seats) {
          const { state: after, rewards } = game.step(state, { [seat]: text });
          expect([rewards[seat]?.team, JSON.stringify(after).length < 3000]).toEqual([
            expect.any(Number),
            true,
          ]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it.runIf(name !== "thin-ice")("has known seats: another is the caller's mistake", () => {
    const state = game.start(tasks[0] ?? null);
    const says = `${name} has no seat "pilot"`;
    expect(() => game.step(state, { pilot: "up" })).toThrow(says);
    expect(() => game.observe(state, "pilot")).toThrow(`${says}; it has ${seats.join(" and ")}`);
  });
});

// Words of a plan for each action, and how much longer plans become.
it.each([
  ["plan-path", 1, 2],
  ["sokoban", 1, 1],
  ["blocksworld", 3, 0.5],
])(
  "the longest of several drawn tasks of %s is longer in training, and the same in evaluation",
  (name, words, more) => {
    const meanLength = (split: GameSplit, longestOf: number): number => {
      const game = createGame(name, { longestOf });
      const tasks = Array.from({ length: 150 }, (_, index) => game.task(split, keyAt(rootKey(8), index)));
      return mean(tasks.map((task) => game.solve(game.start(task), "planner").split(" ").length / words));
    };
    // Standard errors of these means are below .35.
    expect(meanLength("train", 3)).toBeGreaterThan(meanLength("train", 1) + more);
    expect(meanLength("heldOut", 3)).toBe(meanLength("heldOut", 1));
  },
);

const defaults: Readonly<Record<string, object>> = {
  "plan-path": { size: 10, obstacles: 0.22, notation: "list", plan: "moves" },
  sudoku: { size: 4, plan: "entries" },
  "eight-queens": { size: 8, given: { least: 1, most: 4 }, plan: "queens" },
  sokoban: { size: 6, boxes: 1, notation: "list", plan: "moves" },
  blocksworld: { blocks: 5 },
  "thin-ice": { size: 4, thin: 7, distance: { least: 4, most: 6 }, messages: 3 },
};

it.each(games)("the defaults of $name are the paper's, or documented", ({ name, options }) => {
  expect(options.parse({})).toMatchObject(defaults[name] ?? { none: true });
});

it.each<[string, object, RegExp]>([
  ["plan-path", { size: 2 }, /^size: /],
  ["plan-path", { size: 27 }, /^size: /],
  ["plan-path", { size: 4.5 }, /^size: /],
  ["plan-path", { obstacles: 0.51 }, /^obstacles: /],
  ["plan-path", { obstacle: 0.2 }, /"obstacle"/],
  ["plan-path", { notation: "table" }, /^notation: /],
  ["plan-path", { longestOf: 1e9 }, /^longestOf: /],
  ["sokoban", { size: 4 }, /^size: /],
  ["sokoban", { size: 100 }, /^size: /],
  ["sokoban", { boxes: 0 }, /^boxes: /],
  ["sokoban", { size: 5, boxes: 2 }, /^boxes: /],
  ["sokoban", { boxes: 4 }, /^boxes: at most 3 in rooms of size 6$/],
  ["sokoban", { size: 10, boxes: 3 }, /^boxes: /],
  ["sokoban", { longestOf: 0 }, /^longestOf: /],
  ["sokoban", { longestOf: 1e9 }, /^longestOf: /],
  ["blocksworld", { blocks: 2 }, /^blocks: /],
  ["eight-queens", { size: 5 }, /^size: /],
  ["eight-queens", { size: 11 }, /^size: /],
  ["eight-queens", { given: { most: 0 } }, /^given\.most: /],
  ["eight-queens", { given: { least: -1 } }, /^given\.least: /],
  ["eight-queens", { given: { least: 6 } }, /^given\.least: at most given\.most, which is 4$/],
  ["eight-queens", { given: { least: 5 } }, /^given\.least: /],
  ["eight-queens", { size: 6, given: { most: 6 } }, /^given\.most: less than size, which is 6$/],
  ["eight-queens", { given: { most: 8 } }, /^given\.most: /],
  ["eight-queens", { queens: 8 }, /"queens"/],
  ["eight-queens", { demonstrations: { positionsPerBoard: 1e9 } }, /^demonstrations\.positionsPerBoard: /],
  ["sudoku", { size: 5 }, /^size: /],
  ["sudoku", { size: 16 }, /^size: /],
  ["sudoku", { clues: { least: 3 } }, /^clues\.least: from 4 to 14 for size 4$/],
  ["sudoku", { clues: { most: 15 } }, /^clues\.most: from 4 to 14 for size 4$/],
  ["sudoku", { clues: { most: 3 } }, /^clues\.most: /],
  ["sudoku", { clues: { least: 15 } }, /^clues\.least: /],
  ["sudoku", { clues: { least: 9, most: 6 } }, /^clues\.least: at most clues\.most, which is 6$/],
  ["sudoku", { clues: { least: 99, most: 6 } }, /^clues\.least: from 4 to 14 for size 4$/],
  ["sudoku", { size: 9, clues: { least: 20 } }, /^clues\.least: /],
  ["sudoku", { clue: 5 }, /"clue"/],
  ["sudoku", { demonstrations: { breakOff: 1.5 } }, /^demonstrations\.breakOff: /],
  ["thin-ice", { size: 3, thin: 8 }, /leaves no room for a start and a goal/],
  ["thin-ice", { distance: { least: 5, most: 4 } }, /is below `distance\.least`/],
  ["thin-ice", { sees: "own" }, /must be false with `sees: own`/],
  ["thin-ice", { messages: 0 }, /^messages: /],
  ["thin-ice", { messages: true }, /^messages: /],
  ["thin-ice", { depth: 3 }, /"depth"/],
])("%s rejects the options %j with one message", (name, options, says) => {
  const schema = games.find((game) => game.name === name)?.options as z.ZodType;
  const issues = schema.safeParse(options).error?.issues ?? [];
  expect(issues.map(({ path, message }) => `${path.join(".")}: ${message}`)).toEqual([
    expect.stringMatching(says),
  ]);
});

it("every environment is found by its name", () => {
  for (const definition of environments) expect(environmentNamed(definition.name)).toBe(definition);
});

it("an unknown name is rejected with the nearest one", () => {
  const message = "environment.name: there is no environment `plan_pth`; did you mean `plan-path`?";
  expect(() => environmentNamed("plan_pth")).toThrow(new TroupeError("bad_recipe", message));
  expect(() => environmentNamed("chess")).toThrow(/there is plan-path/);
});

it("options are checked", async () => {
  expect((await createEnvironment("plan-path", { size: 4 })).oracle?.words).toContain("d4");
  await expect(createEnvironment("plan-path", { sise: 4 })).rejects.toThrow(/sise/);
});
