/**
 * Rewards computed by hand from the formulas of AT-GRPO's paper (arXiv 2510.11062, appendix C.1) and measured with its
 * code (PettingLLMs `a054fb1`, `multi_agent_env/stateful/env_state.py`) on the same tasks and actions. If ours differ
 * from the published ones, the case names the entry of docs/results/deviations.md that explains it.
 *
 * MAGRPO and MAPPA publish no rewards for these games.
 */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { taskOf as blocksTask } from "../src/environments/blocksworld/test-blocks.ts";
import type { ActionReward, Json, Outcome } from "../src/environments/environment.ts";
import { taskOf as pathTask } from "../src/environments/plan-path/test-boards.ts";
import { taskOf as room } from "../src/environments/sokoban/test-rooms.ts";
import { taskOf as puzzle } from "../src/environments/sudoku/test-grids.ts";

type Row = readonly [
  what: string,
  task: Json,
  /** One turn of the planner each, or of the named seats. */
  actions: readonly (string | Readonly<Record<string, string>>)[],
  /** Ours, for each action. */
  rewards: readonly (readonly [team: number, local: number])[],
  outcome: readonly [success: boolean, score: number],
  /** From the paper's formulas, if there are any: [team] if it has no formula for the local term. */
  paper: readonly (readonly [team: number, local?: number])[],
  /** From the published code, and whether it counted the episode as a success. */
  code: readonly [rewards: readonly number[], success: boolean] | null,
  /** Entries of docs/results/deviations.md, by section, that explain the difference. */
  deviations: readonly number[],
];

// d0 = 4: two moves right and two moves down.
const open = pathTask("S.. ... ..G");
// The straight way from a1 to c1 is blocked; the shortest path has 4 moves.
const walled = pathTask("S#G ... ...");
const wide = pathTask(
  ["S.........", ...Array.from({ length: 8 }, () => ".".repeat(10)), ".........G"].join(" "),
);

/**
 * The paper: team = 1 at the goal, else max(0, d before − d after) / d0; local = .1 format + .1 legality + .8 shortest
 * path, with no legible formula for the last two. Entry 4: the code's rewards are on another scale in every case.
 */
// prettier-ignore
const planPath: readonly Row[] = [
  // .1 + .1 + .8 · 4/4
  // Code: 4 · (−.01) + Σ(γφ′ − φ) = 4.06, + 1 at the goal, + .5 as the path is a shortest one
  ["a shortest path", open, ["right right down down"], [[1, 1]], [true, 1], [[1, 1]], [[5.52], true], [4]],
  ["a shortest path as the planner of the published code writes it", open, ['The way is free.\n#### ["R", "R", "D", "D"]'],
    [[1, 1]], [true, 1], [[1, 1]], [[5.52], true], [4]],
  // d: 4 → 2: (4 − 2)/4; .1 + .1 + .8 · 2/4. Then the goal: .1 + .1 + .8 · 2/2.
  ["a shortest path in two turns", open, ["right right", "#### [D, D]"],
    [[0.5, 0.6], [1, 1]], [true, 1], [[0.5], [1]], [[2.03, 3.49], true], [4]],
  // d: 4 → 3 → 4 → 3. The paper rewards the third move like the first.
  ["to and fro over three turns", open, ["right", "left", "right"],
    [[0.25, 0.4], [0, 0.2], [0, 0.4]], [false, 0.25], [[0.25], [0], [0.25]], [[1.02, -0.97, 1.02], false], [1, 4]],
  // At most 400 moves are read on a board of 100 cells; the agent ends where it started: .1 + .1 + 0.
  ["500 moves to and fro, for which the code pays 82.5 and for the shortest path 20.85", wide, [`#### ${JSON.stringify(Array.from({ length: 500 }, (_, index) => "RL"[index % 2]))}`],
    [[0, 0.2]], [false, 0], [[0]], [[82.5], false], [1, 4]],
  ["the shortest path of that board", wide, ["RRRRRRRRRDDDDDDDDD"], [[1, 1]], [true, 1], [[1, 1]], [[20.85], true], [4]],
  // True distances: 4 → 3. With Manhattan distances the paper's formula gives max(0, 2 − 3)/2.
  ["the first step of a way around a wall", walled, ["down"], [[0.25, 0.4]], [false, 0.25], [[0]], [[-0.98], false], [3, 4]],
  // .1 + .1 · 0/2 + 0
  ["a wall at once, then the way around it", walled, ["right right", "down right right up"],
    [[0, 0.1], [1, 1]], [true, 1], [[0], [1, 1]], [[-0.16, 3.02], true], [4]],
  ["an impossible move before a right plan: the code skips it", open, ["left right right down down"],
    [[0, 0.1]], [false, 0], [[1]], [[4.96], true], [4, 6]],
  // .1 + .1 · 4/5 + .8 · 4/5
  ["a move beyond the goal", open, ["right right down down up"], [[1, 0.82]], [true, 1], [[1]], [[5.52], true], [4, 7]],
  ["words around a right plan: the paper's format mask takes the local reward away", open, ["I go right right down down."],
    [[1, 0.9]], [true, 1], [[1, 0]], null, [15]],
  ["nothing that could be read", open, ["I do not know.", "#### []"],
    [[0, 0], [0, 0]], [false, 0], [[0, 0], [0, 0]], [[-2, -2], false], [4]],
  // Code: Its tool agent prints moves, which are tried on a copy of the board.
  ["a scout that names the cells of a shortest path: rewarded like the planner, without moving", open, [{ scout: "a1 b1 c1 c2 c3" }],
    [[1, 1]], [false, 0], [], [[5.52], false], [4, 9, 10, 17]],
];

// The solution is 1234 3412 2143 4321, the example grid of the published prompt; 11 cells are open.
const usual = puzzle("1... .4.. .14. ..2.");
// The same with 1 and 2 exchanged: the solution is 2134 3421 1243 4312.
const renamed = puzzle("2... .4.. .24. ..1.");
const exampleGrid = "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]";

/** The paper: team = 1 if solved; local = .1 format + .1 legality + .8 newly filled / N². */
// prettier-ignore
const sudoku: readonly Row[] = [
  // progress 11/11: .1 + .1 + .8
  // Paper: .1 + .1 + .8 · 11/16
  // Code: −.01 + 2 + .5
  ["the solution as a grid", usual, [`#### ${exampleGrid}`], [[1, 1]], [true, 1], [[1, 0.75]], [[2.49], true], [4, 6]],
  ["the solution as entries, for which the code pays 2.7 times as much as for the grid", usual, ["[[0,1,2],[0,2,3],[0,3,4],[1,0,3],[1,2,1],[1,3,2],[2,0,2],[2,3,3],[3,0,4],[3,1,3],[3,3,1]]"],
    [[1, 1]], [true, 1], [[1, 0.75]], [[6.71], true], [4, 6]],
  ["the published prompt's own example grid on another puzzle: the code does not compare clues", renamed, [`#### ${exampleGrid}`],
    [[0, 0]], [false, 0], [], [[2.49], true], [1, 6]],
  // progress 3/11, times .1 + .1 + .8
  // Paper: .1 + .1 + .8 · 3/16
  ["three right entries of eleven", usual, ["#### [[0,1,2],[0,2,3],[1,0,3]]"],
    [[3 / 11, 3 / 11]], [false, 3 / 11], [[0, 0.35]], [[1.005], false], [4, 5, 6, 10]],
  // Paper: .1 + .1 + .8 · 1/16, then 2/16; then nothing is newly filled.
  ["the same entries in two turns, and once more", usual, ["b1=2", "c1=3 a2=3", "b1=2 c1=3 a2=3"],
    [[1 / 11, 1 / 11], [2 / 11, 2 / 11], [0, 0]], [false, 3 / 11], [[0, 0.25], [0, 0.3], [0, 0.2]], null, [4, 5, 10]],
  // Paper: format alone
  ["an entry that clashes with a clue", usual, ["[[0,1,1]]"], [[0, 0]], [false, 0], [[0, 0.1]], [[-0.3], false], [5, 6]],
  ["a grid with a digit out of range", usual, [`#### ${exampleGrid.replace("4]", "5]")}`],
    [[0, 0]], [false, 0], [], [[-1], false], [6]],
];

// The player beside a box, one step from its goal: 2 moves.
const corridor = room("###### #@$-.# #----# #----# #----# ######");
// Two boxes a push from their goals: right, then down left down right: 5 moves.
const twoBoxes = room("###### #@$.-# #----# #-$.-# #----# ######");
const corner = room("###### #--.-# #-$--# #@---# #----# ######");

/**
 * The paper: team = 1 if all boxes are on goals, else boxes on goals / boxes; planner = .1 format + .1 legality + .8
 * deadlock, with no legible formula for the last.
 */
// prettier-ignore
const sokoban: readonly Row[] = [
  // Code: 2 · (−.01) + shaping .201, + 1 for the box, + 10
  ["a shortest solution", corridor, ['#### ["R", "R"]'], [[1, 1]], [true, 1], [[1, 1]], [[11.181], true], [3]],
  // 2 → 1 moves left: .1 + .1 + .8 · 1/2
  ["a shortest solution in two turns", corridor, ["right", "right"],
    [[0, 0.6], [1, 1]], [true, 1], [[0], [1]], [[0.091, 11.09], true], [3]],
  // Moves left: 5 → 4 → 3 → 0. The paper rewards the box on its goal in every turn.
  ["one box of two, a turn that pushes nothing, and the other box", twoBoxes, ["right", "left", "down down right"],
    [[0.5, 0.1 + 0.1 + 0.8 / 5], [0, 0.1 + 0.1 + 0.8 / 4], [1, 1]], [true, 1], [[0.5], [0.5], [1]], [[1.091, -0.009, 11.072], true], [1, 3]],
  ["a push after which the room cannot be solved", corner, ["RRUL"],
    [[0, 0.2]], [false, 0], [[0, 0.2]], [[-0.131], false], [3]],
];

// Row 1 has its queen on a1; the others are to be placed.
const given = { size: 8, given: "a......." };
const empty = { size: 8, given: "........" };

/** The paper has no numbers for this game. */
// prettier-ignore
const eightQueens: readonly Row[] = [
  // Code: −.01 + .5 + 2 + .5
  ["the example of the published prompt on an empty board", empty, ["#### [0,4,7,5,2,6,1,3]"],
    [[1, 1]], [true, 1], [], [[2.99], true], [2]],
  ["a board completed", given, ["[0, 5, 7, 2, 6, 3, 1, 4]"], [[1, 1]], [true, 1], [], [[2.99], true], [2]],
  ["a diagonal of queens: 28 conflicts there, the first ends the plan here", given, ["[0, 1, 2, 3, 4, 5, 6, 7]"],
    [[0, 0]], [false, 0], [], [[-3.3], false], [2]],
];

/** The paper has no numbers for this game; these are the three tasks of the published code. */
// prettier-ignore
const blocksworld: readonly Row[] = [
  ["its first task", blocksTask("ab c", "ca b"), ['[{"move": ["B", "table"]}, {"move": ["A", "C"]}]'],
    [[1, 1]], [true, 1], [], [[3.313333], true], [2]],
  ["its second task", blocksTask("a bc d", "dcba"), ['[{"move": ["C", "D"]}, {"move": ["B", "C"]}, {"move": ["A", "B"]}]'],
    [[1, 1]], [true, 1], [], [[3.345], true], [2]],
  ["its third task", blocksTask("abc", "cba"), ['[{"move": ["C", "table"]}, {"move": ["B", "C"]}, {"move": ["A", "B"]}]'],
    [[1, 1]], [true, 1], [], [[3.303333], true], [2]],
  // .1 + .1 · 0/1 + 0
  ["a block with another on it", blocksTask("ab c", "ca b"), ['[{"move": ["A", "C"]}]'],
    [[0, 0.1]], [false, 0], [], [[-0.3], false], [2]],
  ["40 moves that undo each other, for which the code pays 1.6", blocksTask("ab c", "ca b"), [`[${Array.from({ length: 20 }, () => '{"move": ["B", "table"]}, {"move": ["B", "A"]}').join(", ")}]`],
    [[0, 0.2]], [false, 0], [], [[1.6], false], [2]],
];

const games = [
  { environment: "plan-path", section: "Plan-Path", cases: planPath },
  { environment: "sudoku", section: "Sudoku", cases: sudoku },
  { environment: "sokoban", section: "Sokoban", cases: sokoban },
  { environment: "eight-queens", section: "Eight Queens", cases: eightQueens },
  { environment: "blocksworld", section: "Blocksworld", cases: blocksworld },
];

interface ScoredLine {
  readonly rewards: readonly Readonly<Record<string, ActionReward>>[];
  readonly outcome: Outcome;
}

/** The output of `troupe score` for the cases, one line each. */
async function scored(environment: string, cases: readonly Row[]): Promise<ScoredLine[]> {
  const lines = cases.map(([, task, actions]) => JSON.stringify({ task, actions: actions.map(bySeat) }));
  const { code, stdout } = await runCommand(["score", environment, "-", "--json"], {
    cwd: import.meta.dirname,
    input: lines.join("\n"),
  });
  expect(code).toBe(0);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ScoredLine);
}

function bySeat(action: Row[2][number]): Readonly<Record<string, string>> {
  return typeof action === "string" ? { planner: action } : action;
}

describe.each(games)("$environment", ({ environment, cases }) => {
  let results: ScoredLine[];
  beforeAll(async () => {
    results = await scored(environment, cases);
  });

  it.each(cases)("%s", (...row) => {
    const [, , , rewards, outcome] = row;
    const result = results[cases.findIndex(([what]) => what === row[0])] as ScoredLine;
    const found = result.rewards.map((action) =>
      Object.values(action).map(({ team, local }) => [team, local]),
    );
    // Rounding of sums and quotients of doubles.
    expect(found).toEqual(rewards.map((pair) => [pair.map((value) => expect.closeTo(value, 12) as number)]));
    expect(result.outcome.success).toBe(outcome[0]);
    expect(result.outcome.score).toBeCloseTo(outcome[1], 12);
  });
});

describe("what differs from the published values", () => {
  const page = readFileSync(new URL("../docs/results/deviations.md", import.meta.url), "utf8");
  /** Numbers of the entries of a section that name a test. */
  const entriesOf = (section: string): number[] => {
    const [, text = ""] = page.split(new RegExp(`^## ${section} .*$`, "m"));
    const [own = ""] = text.split(/^## /m);
    const entries = own.split(/^(?=\d+\. )/m).filter((entry) => entry.includes(".test.ts`"));
    return entries.map((entry) => Number.parseInt(entry, 10)).filter((number) => !Number.isNaN(number));
  };
  const all = games.flatMap(({ section, cases }) => cases.map((row) => [section, row[0], row] as const));

  it.each(all)("%s: %s", (section, _, row) => {
    const deviations = row[7];
    expect(entriesOf(section)).toEqual(expect.arrayContaining([...deviations]));
    expect(deviations.length > 0).toBe(differs(row));
  });
});

/** From the paper's rewards or from the code's. */
function differs([, , , rewards, outcome, paper, code]: Row): boolean {
  const [fromCode = [], success = outcome[0]] = code ?? [];
  const isOther = paper.some(([team, local], index) => {
    const ours = rewards[index] ?? [NaN, NaN];
    return !isNear(team, ours[0]) || (local !== undefined && !isNear(local, ours[1]));
  });
  const isOtherInCode = fromCode.some((value, index) => {
    const [team, local] = rewards[index] ?? [NaN, NaN];
    return !isNear(value, team + local);
  });
  return isOther || isOtherInCode || success !== outcome[0];
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-9;
}
