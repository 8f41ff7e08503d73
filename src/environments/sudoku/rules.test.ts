import { describe, expect, it } from "vitest";
import { readPlan } from "./rules.ts";
import { sudokuEnvironment, taskOf } from "./test-grids.ts";

const environment = sudokuEnvironment();
// The solution is 1234 3412 2143 4321.
const task = taskOf("1... .4.. .14. ..2.");
const start = environment.start(task);

function played(text: string, state = start): ReturnType<typeof environment.step> {
  return environment.step(state, { planner: text });
}

describe("an entry", () => {
  it("is made if nothing clashes", () => {
    const { state, rewards, done } = played("b1=2 c1=3");
    expect(state.grid).toBe("123..4...14...2.");
    expect(rewards["planner"]?.reason).toBeUndefined();
    expect(rewards["planner"]?.team).toBeCloseTo(2 / 11, 12);
    expect(done).toBe(false);
  });

  it("stays if the rules allow it although the solution has another: only the reward differs", () => {
    const { state, rewards } = played("b1=3");
    expect(state.grid).toBe("13...4...14...2.");
    expect(rewards["planner"]?.reason).toBeUndefined();
    expect(rewards["planner"]).toMatchObject({ team: 0, local: 0 });
  });

  it.each([
    ["of a clue", "a1=2", "a1 is a clue"],
    ["that empties a clue", "b2=0", "b2 is a clue"],
    ["beside its like in a row", "c1=1", "c1=1 clashes with a1"],
    ["below its like in a column", "b4=4", "b4=4 clashes with b2"],
    ["in a box with its like", "a2=4", "a2=4 clashes with b2"],
    [
      "in no cell",
      "e1=2",
      "cells are a1 to d4, digits 1 to 4, 0 empties; in lists rows and columns are 0 to 3, digits 1 to 4",
    ],
    [
      "of no digit",
      "b1=5",
      "cells are a1 to d4, digits 1 to 4, 0 empties; in lists rows and columns are 0 to 3, digits 1 to 4",
    ],
  ])("%s is rejected, and ends the plan", (_, entry, reason) => {
    const { state, rewards } = played(`b1=2 ${entry} c1=3`);
    expect(state.grid).toBe("12...4...14...2.");
    expect(rewards["planner"]?.reason).toBe(reason);
  });

  it("that clashes only with entries clears these: one of the two is wrong", () => {
    const wrong = played("b1=3 c2=1").state;
    expect(wrong.grid).toBe("13...41..14...2.");
    const { state, rewards } = played("d1=4 c1=3 d2=2", wrong);
    expect(state.grid).toBe("1..4.41..14...2.");
    expect(rewards["planner"]?.reason).toBe("c1=3 clashes with b1, taken off too");
    expect(environment.observe(state, "planner")).toContain("\nrefused c1=3\nopen b1 c1 ");
    // c1=1 clashes with an entry (c2) and with a clue (a1): c1=1 is certainly wrong.
    expect(played("c1=1", wrong).state.grid).toBe(wrong.grid);
  });

  it("never changes a clue, whatever is written", () => {
    const { state } = played("a1=1 a1=1 b2=4 b1=2");
    expect(state.grid).toBe("12...4...14...2.");
    const { rewards } = played("a1=3");
    expect(rewards["planner"]).toMatchObject({ team: 0, local: 0, reason: "a1 is a clue" });
  });

  it("may be changed and cleared by later ones", () => {
    const wrong = played("b1=3").state;
    expect(played("b1=2", wrong).state.grid).toBe("12...4...14...2.");
    expect(played("b1=0", wrong).state.grid).toBe("1....4...14...2.");
  });

  it("after the solution is rejected", () => {
    const solution = environment.solve?.(start, "planner") ?? "";
    const { state, rewards, done } = played(`${solution} b1=0`);
    expect(done).toBe(true);
    expect(state.grid).toBe(task.solution);
    expect(rewards["planner"]?.reason).toBe("continued after the solution");
  });
});

describe("the next observation", () => {
  it("shows the current grid, and the rejected entry until another plan is written", () => {
    const { state } = played("b1=2 c1=1 d1=4");
    expect(environment.observe(state, "planner")).toBe(
      "clues a1=1 b2=4 b3=1 c3=4 c4=2\nfilled b1=2\nrefused c1=1\nopen c1 d1 a2 c2 d2 a3 d3 a4 b4 d4\nfill",
    );
    expect(environment.observe(state, "proposer")).toMatch(/refused c1=1\nopen .*\npropose$/s);
    expect(environment.observe(played("c1=3", state).state, "planner")).not.toContain("refused");
  });

  it("shows the planner what was proposed, as entries of the grid, and nobody else", () => {
    const { state } = environment.step(start, { proposer: "Look! b1=2, then a1=4 and e9=1 <|im_end|>" });
    expect(environment.observe(state, "planner")).toContain("\nproposed b1=2 a1=4\n");
    expect(environment.observe(state, "proposer")).not.toContain("proposed");
    expect(state.grid).toBe(task.clues);
  });

  it("says none if nothing could be read", () => {
    const { state } = environment.step(start, { proposer: "no idea" });
    expect(environment.observe(state, "planner")).toContain("\nproposed none\n");
  });

  it("shows a proposal in its turn only, and only until the planner changes the grid", () => {
    const { state } = environment.step(start, { proposer: "b1=2" });
    expect(environment.endTurn?.(state).proposed).toBeNull();
    expect(played("b1=2", state).state.proposed).toBeNull();
    expect(played("nothing", state).state.proposed).toHaveLength(1);
  });
});

describe("an outcome", () => {
  it("counts right minus wrong entries, and is a success exactly when solved", () => {
    const { state } = played("b1=2 c1=3 d1=4 a3=3");
    expect(environment.outcome(state)).toEqual({ success: false, score: 2 / 11 });
    const full = played(environment.solve?.(state, "planner") ?? "", state);
    expect(environment.outcome(full.state)).toEqual({ success: true, score: 1 });
  });

  it("rewards a proposal like the same plan", () => {
    const text = "b1=2 c1=3 c1=1";
    const { rewards } = environment.step(start, { proposer: text, planner: text });
    expect(rewards["proposer"]).toEqual(rewards["planner"]);
  });
});

it("a grid shows clues, entries and proposals", () => {
  const filled = environment.step(start, { planner: "b1=2 c1=3" }).state;
  const { state } = environment.step(filled, { proposer: "d4=1" });
  expect(environment.render(state).split("\n")).toEqual([
    "     a  b   c  d",
    "   ┼──────┼──────┼",
    " 1 │ 1 (2)│(3) · │",
    " 2 │ ·  4 │ ·  · │",
    "   ┼──────┼──────┼",
    " 3 │ ·  1 │ 4  · │",
    " 4 │ ·  · │ 2  1?│",
    "   ┼──────┼──────┼",
    "   1 clue   (1) entered   1? proposed",
  ]);
});

const solution = "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]";

describe("a whole grid", () => {
  it("that is the solution earns 2, as the solver does", () => {
    const { done, rewards } = played(`#### ${solution}`);
    expect(done).toBe(true);
    expect(rewards["planner"]?.reason).toBeUndefined();
    expect(rewards["planner"]?.team).toBe(1);
    expect(rewards["planner"]?.local).toBeCloseTo(1, 12);
  });

  it("counts what it changes, whatever is on the grid: wrong entries are cleared first", () => {
    // b1 and c1 have each other's digits, so neither could be entered before the other is cleared.
    const wrong = played("b1=3 c2=1 d1=4").state;
    expect(wrong.grid).toBe("13.4.41..14...2.");
    const { done, rewards } = played(solution, wrong);
    expect(done).toBe(true);
    expect(rewards["planner"]).toEqual(
      played(environment.solve?.(wrong, "planner") ?? "", wrong).rewards["planner"],
    );
  });

  it.each([
    ["that changes a clue", "[[2,1,3,4],[3,4,1,2],[1,2,4,3],[4,3,2,1]]", "a1 is a clue"],
    ["with a digit too high", solution.replace("2,3,4", "2,3,5"), /^cells are a1 to d4, .* digits 1 to 4$/],
    ["with an open cell", solution.replace("2,3,4", "0,3,4"), /^cells are/],
    ["with a digit below 0", solution.replace("2,3,4", "-2,3,4"), /^cells are/],
  ])("%s is rejected as a whole", (_, text, reason) => {
    const { state, rewards, done } = played(text);
    expect(state.grid).toBe(task.clues);
    expect(done).toBe(false);
    expect(rewards["planner"]).toMatchObject({ team: 0, local: 0 });
    expect(rewards["planner"]?.reason).toMatch(reason);
  });

  it("is entered up to the first digit that clashes", () => {
    const { state, rewards } = played("[[1,2,3,4],[3,4,1,4],[2,1,4,3],[4,3,2,1]]");
    expect(state.grid).toBe("1234341..14...2.");
    expect(rewards["planner"]?.reason).toBe("d2=4 clashes with b2");
  });
});

describe("a list of entries", () => {
  it("has row, column and digit, rows and columns from 0", () => {
    const { state, rewards } = played("#### [[0,1,2],[0,2,3],[1,0,3]]");
    expect(state.grid).toBe("123.34...14...2.");
    expect(rewards["planner"]).toEqual(played("b1=2 c1=3 a2=3").rewards["planner"]);
  });

  it.each([
    ["changes a clue", "[[0,1,2],[0,0,2],[0,2,3]]", "a1 is a clue"],
    ["clashes with a clue", "[[0,1,2],[0,2,1],[0,2,3]]", "c1=1 clashes with a1"],
    ["names a cell twice", "[[0,1,2],[0,1,3],[0,2,3]]", "a cell of the list is named twice"],
    ["repeats an entry", "[[0,1,2],[0,1,2],[0,2,3]]", "a cell of the list is named twice"],
    ["has no such row", "[[0,1,2],[4,1,2],[0,2,3]]", /^cells are/],
    ["has no such column", "[[0,1,2],[0,-1,2],[0,2,3]]", /^cells are/],
    ["has no such digit", "[[0,1,2],[0,2,5],[0,3,4]]", /^cells are/],
    ["empties a cell", "[[0,1,2],[0,2,0],[0,3,4]]", /^cells are/],
  ])("that %s ends there", (_, text, reason) => {
    const { state, rewards } = played(text);
    expect(state.grid).toBe("12...4...14...2.");
    expect(rewards["planner"]?.reason).toMatch(reason);
  });
});

describe("a list is found", () => {
  it.each([
    ["with digits as text", solution.replaceAll(/\d/g, '"$&"'), true],
    ["with tuples", `[${solution.slice(1, -1).replaceAll("[", "(").replaceAll("]", ")")}]`, true],
    ["before one of no known shape", `${solution}\n[[1,2],[3,4]]`, false],
  ])("%s", (_, text, wellFormed) => {
    expect(readPlan(task, task.clues, text)).toEqual({
      items: readPlan(task, task.clues, solution).items,
      wellFormed,
    });
    expect(played(text).done).toBe(true);
  });

  it.each([
    ["a row is missing", "[[1,2,3,4],[3,4,1,2],[2,1,4,3]]"],
    ["a row is short", "[[1,2,3,4],[3,4,1,2],[2,1,4],[4,3,2,1]]"],
    ["it is not nested", "[1,2,3,4]"],
    ["it is empty", "#### []"],
    ["it is cut off", solution.slice(0, -1)],
    ["brackets do not match", solution.replace("],", "),")],
    ["there are words in it", solution.replace("2", "two")],
  ])("not where %s", (_, text) => {
    expect(played(text).rewards["planner"]?.reason).toBe("no plan found");
  });

  it("in the proposer's seat too, whose entries are shown to the planner", () => {
    const { state } = environment.step(start, { proposer: "[[0,1,2],[0,1,2],[9,9,9]]" });
    expect(environment.observe(state, "planner")).toContain("\nproposed b1=2\n");
  });
});
