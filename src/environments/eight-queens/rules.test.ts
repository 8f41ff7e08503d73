import { describe, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import { readPlan } from "./rules.ts";
import { queensEnvironment } from "./test-boards.ts";

const environment = queensEnvironment();
// Completed by a1 f2 h3 c4 g5 d6 b7 e8, among others.
const task = { size: 8, given: "a......." };
const start = environment.start(task);

function played(text: string, state = start): ReturnType<typeof environment.step> {
  return environment.step(state, { planner: text });
}

describe("a queen", () => {
  it("is placed on a square that is not attacked, one per row", () => {
    expect(played("f2 h3").state.grid).toBe("afh.....");
    expect(played("f2 h2").state.grid).toBe("ah......");
    expect(played("f2 x2 f2").state.grid).toBe("af......");
  });

  it.each([
    ["in a column with another", "a5", "a5 is attacked from a1"],
    ["on a diagonal with another", "c3", "c3 is attacked from a1"],
    ["in the row of a given one", "b1", "the queen of row 1 is given"],
    ["given, taken off", "x1", "the queen of row 1 is given"],
    ["off the board", "j2", "squares are a1 to h8; x1 takes row 1's queen off"],
  ])("%s is rejected, and ends the plan", (_, square, reason) => {
    const { state, rewards } = played(`f2 ${square} h3`);
    expect(state.grid).toBe("af......");
    expect(rewards["planner"]?.reason).toBe(reason);
  });

  it("that only placed queens attack removes these: one of them is wrong", () => {
    const { state, rewards } = played("f2 h3 g4 c5");
    expect(state.grid).toBe("af......");
    expect(rewards["planner"]?.reason).toBe("g4 is attacked from h3, taken off too");
    // a5 is attacked by the given queen: only a5 can be wrong.
    expect(played("f2 h3 a5").state.grid).toBe("afh.....");
  });

  it("is rewarded as long as a solution is left", () => {
    expect(played("f2").rewards["planner"]?.team).toBeCloseTo(1 / 7, 12);
    // d2 is not attacked; no solution has queens on a1 and d2.
    expect(played("d2").state.grid).toBe("ad......");
    expect(played("d2").rewards["planner"]).toMatchObject({ team: 0, local: 0 });
    expect(environment.outcome(played("f2 h3").state)).toEqual({ success: false, score: 2 / 7 });
  });

  it("after the last one is rejected", () => {
    const { done, rewards, state } = played("f2 h3 c4 g5 d6 b7 e8 x8");
    expect(done).toBe(true);
    expect(rewards["planner"]?.reason).toBe("continued after the solution");
    expect(environment.outcome(state)).toEqual({ success: true, score: 1 });
  });
});

describe("what is written", () => {
  it.each([
    ["squares", "f2 h3 c4 g5 d6 b7 e8"],
    ["the given queen as well", "A1, F2, H3, C4, G5, D6, B7, E8"],
    ["rows first", "r2 f2 r3 h3 r4 c4 r5 g5 r6 d6 r7 b7 r8 e8"],
    ["a list of columns from 0, as in the original", "[0, 5, 7, 2, 6, 3, 1, 4]"],
    ["a list of columns from 1", "My answer:\n1 6 8 3 7 4 2 5"],
  ])("solves as %s", (_, text) => {
    const { done, rewards } = played(text);
    expect(done).toBe(true);
    expect(rewards["planner"]?.reason).toBeUndefined();
  });

  it("that does not list all rows is not a plan", () => {
    expect(played("[0, 5, 7]").rewards["planner"]?.reason).toBe("no plan found");
  });
});

it("observations show given, placed, rejected and proposed queens and the open rows", () => {
  const { state } = played("f2 a5");
  const proposed = environment.step(state, { proposer: "h3 c4" }).state;
  expect(environment.observe(proposed, "planner")).toBe(
    "queens a1\nplaced f2\nrefused a5\nproposed h3 c4\nopen r3 r4 r5 r6 r7 r8\nplace",
  );
  expect(environment.observe(proposed, "proposer")).toBe(
    "queens a1\nplaced f2\nrefused a5\nopen r3 r4 r5 r6 r7 r8\npropose",
  );
});

it("a board is rendered with its queens", () => {
  const { state } = environment.step(played("f2").state, { proposer: "h3" });
  expect(environment.render(state).split("\n").slice(0, 4)).toEqual([
    "   a b c d e f g h",
    " 1 ♛ · · · · · · ·",
    " 2 · · · · · ♕ · ·",
    " 3 · · · · · · · +",
  ]);
});

it("demonstrations lead to a solution, and first remove what prevents one", () => {
  const teacher = queensEnvironment({ demonstrations: { begun: 1, mistaken: 1, refused: 0 } });
  const corrected = Array.from({ length: 100 }, (_, seed) =>
    teacher.demonstrations?.(rootKey(seed), ["planner"]),
  )
    .flatMap((examples) => examples ?? [])
    .filter(({ action }) => action.startsWith("x"));
  expect(corrected.length).toBeGreaterThan(60);
  for (const { observation, action } of corrected) {
    const [queens = "", placed = ""] = observation.split("\n");
    const given = Array.from(
      { length: 8 },
      (_, row) => new RegExp(`([a-h])${row + 1}\\b`).exec(queens)?.[1] ?? ".",
    );
    const board = { size: 8, given: given.join("") };
    const begun = teacher.step(teacher.start(board), { planner: placed.replace("placed ", "") }).state;
    expect(teacher.step(begun, { planner: action }).done).toBe(true);
  }
});

const solution = "[0, 5, 7, 2, 6, 3, 1, 4]";

describe("a list of all columns", () => {
  it("that is a solution earns 2, as the solver does", () => {
    const { done, rewards } = played(`#### ${solution}`);
    expect(done).toBe(true);
    expect(rewards["planner"]?.reason).toBeUndefined();
    expect(rewards["planner"]?.team).toBe(1);
    expect(rewards["planner"]?.local).toBeCloseTo(1, 12);
  });

  it("counts what it changes, whatever is on the board: misplaced queens are removed first", () => {
    const wrong = played("d2 b3 g4").state;
    expect(wrong.grid).toBe("adbg....");
    const { done, rewards } = played(solution, wrong);
    expect(done).toBe(true);
    expect(rewards["planner"]).toEqual(played("x2 x3 x4 f2 h3 c4 g5 d6 b7 e8", wrong).rewards["planner"]);
  });

  it.each([
    ["that moves a given queen", "[1, 5, 7, 2, 6, 3, 0, 4]", "the queen of row 1 is given"],
    ["with a column too high", "[0, 5, 8, 2, 6, 3, 1, 4]", /^squares are/],
    ["with a column below 0", "[0, 5, -1, 2, 6, 3, 1, 4]", /^squares are/],
  ])("%s is rejected as a whole", (_, text, reason) => {
    const { state, rewards } = played(text);
    expect(state.grid).toBe(task.given);
    expect(rewards["planner"]).toMatchObject({ team: 0, local: 0 });
    expect(rewards["planner"]?.reason).toMatch(reason);
  });

  it("is placed up to the first queen that is attacked", () => {
    const { state, rewards } = played("[0, 5, 0, 2, 6, 3, 1, 4]");
    expect(state.grid).toBe("af......");
    expect(rewards["planner"]?.reason).toBe("a3 is attacked from a1");
  });
});

describe("a list is found", () => {
  it.each([
    ["from 1, without brackets", "My answer:\n1 6 8 3 7 4 2 5", true],
    ["before a shorter one", `${solution}\n[0, 5, 7, 2]`, false],
  ])("%s", (_, text, wellFormed) => {
    const { items } = readPlan(task, task.given, solution);
    expect(readPlan(task, task.given, text)).toEqual({ items, wellFormed });
    expect(played(text).done).toBe(true);
  });

  it.each(["[0, 5, 7]", "[0, 5, 7, 2, 6, 3, 1, 4, 2]", "[[0, 5], [7, 2]]", "[]"])("not in %s", (text) => {
    expect(played(text).rewards["planner"]?.reason).toBe("no plan found");
  });
});
