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

interface Golden {
  readonly what: string;
  readonly task: Json;
  /** One turn of the planner each, or of the named seats. */
  readonly actions: readonly (string | Readonly<Record<string, string>>)[];
  /** Ours, team and local, for each action. */
  readonly rewards: readonly (readonly [team: number, local: number])[];
  readonly outcome: readonly [success: boolean, score: number];
  /** From the paper's formulas: [team] if it has no formula for the local term, else [team, local]. */
  readonly paper?: readonly (readonly [team: number, local?: number])[];
  /** From the published code, and whether it counted the episode as a success. */
  readonly code?: { readonly rewards: readonly number[]; readonly success: boolean };
  /** Entries of docs/results/deviations.md, by section, that explain the difference. */
  readonly deviations?: readonly number[];
}

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
const planPath: readonly Golden[] = [
  {
    what: "a shortest path",
    task: open,
    actions: ["right right down down"],
    // .1 + .1 + .8 · 4/4
    rewards: [[1, 1]],
    outcome: [true, 1],
    paper: [[1, 1]],
    // 4 · (−.01) + Σ(γφ′ − φ) = 4.06, + 1 at the goal, + .5 as the path is a shortest one
    code: { rewards: [5.52], success: true },
    deviations: [4],
  },
  {
    what: "a shortest path as the planner of the published code writes it",
    task: open,
    actions: ['The way is free.\n#### ["R", "R", "D", "D"]'],
    rewards: [[1, 1]],
    outcome: [true, 1],
    paper: [[1, 1]],
    code: { rewards: [5.52], success: true },
    deviations: [4],
  },
  {
    what: "a shortest path in two turns",
    task: open,
    actions: ["right right", "#### [D, D]"],
    // d: 4 → 2: (4 − 2)/4; .1 + .1 + .8 · 2/4. Then the goal: .1 + .1 + .8 · 2/2.
    rewards: [
      [0.5, 0.6],
      [1, 1],
    ],
    outcome: [true, 1],
    paper: [[0.5], [1]],
    code: { rewards: [2.03, 3.49], success: true },
    deviations: [4],
  },
  {
    what: "to and fro over three turns",
    task: open,
    actions: ["right", "left", "right"],
    // d: 4 → 3 → 4 → 3. The paper rewards the third move like the first.
    rewards: [
      [0.25, 0.4],
      [0, 0.2],
      [0, 0.4],
    ],
    outcome: [false, 0.25],
    paper: [[0.25], [0], [0.25]],
    code: { rewards: [1.02, -0.97, 1.02], success: false },
    deviations: [1, 4],
  },
  {
    what: "500 moves to and fro, for which the code pays 82.5 and for the shortest path 20.85",
    task: wide,
    actions: [`#### ${JSON.stringify(Array.from({ length: 500 }, (_, index) => "RL"[index % 2]))}`],
    // At most 400 moves are read on a board of 100 cells; the agent ends where it started: .1 + .1 + 0.
    rewards: [[0, 0.2]],
    outcome: [false, 0],
    paper: [[0]],
    code: { rewards: [82.5], success: false },
    deviations: [1, 4],
  },
  {
    what: "the shortest path of that board",
    task: wide,
    actions: ["RRRRRRRRRDDDDDDDDD"],
    rewards: [[1, 1]],
    outcome: [true, 1],
    paper: [[1, 1]],
    code: { rewards: [20.85], success: true },
    deviations: [4],
  },
  {
    what: "the first step of a way around a wall",
    task: walled,
    actions: ["down"],
    // True distances: 4 → 3. With Manhattan distances the paper's formula gives max(0, 2 − 3)/2.
    rewards: [[0.25, 0.4]],
    outcome: [false, 0.25],
    paper: [[0]],
    code: { rewards: [-0.98], success: false },
    deviations: [3, 4],
  },
  {
    what: "a wall at once, then the way around it",
    task: walled,
    actions: ["right right", "down right right up"],
    // .1 + .1 · 0/2 + 0
    rewards: [
      [0, 0.1],
      [1, 1],
    ],
    outcome: [true, 1],
    paper: [[0], [1, 1]],
    code: { rewards: [-0.16, 3.02], success: true },
    deviations: [4],
  },
  {
    what: "an impossible move before a right plan: the code skips it",
    task: open,
    actions: ["left right right down down"],
    rewards: [[0, 0.1]],
    outcome: [false, 0],
    paper: [[1]],
    code: { rewards: [4.96], success: true },
    deviations: [4, 6],
  },
  {
    what: "a move beyond the goal",
    task: open,
    actions: ["right right down down up"],
    // .1 + .1 · 4/5 + .8 · 4/5
    rewards: [[1, 0.82]],
    outcome: [true, 1],
    paper: [[1]],
    code: { rewards: [5.52], success: true },
    deviations: [4, 7],
  },
  {
    what: "words around a right plan: the paper's format mask takes the local reward away",
    task: open,
    actions: ["I go right right down down."],
    rewards: [[1, 0.9]],
    outcome: [true, 1],
    paper: [[1, 0]],
    deviations: [15],
  },
  {
    what: "nothing that could be read",
    task: open,
    actions: ["I do not know.", "#### []"],
    rewards: [
      [0, 0],
      [0, 0],
    ],
    outcome: [false, 0],
    paper: [
      [0, 0],
      [0, 0],
    ],
    code: { rewards: [-2, -2], success: false },
    deviations: [4],
  },
  {
    what: "a scout that names the cells of a shortest path: rewarded like the planner, without moving",
    task: open,
    actions: [{ scout: "a1 b1 c1 c2 c3" }],
    rewards: [[1, 1]],
    outcome: [false, 0],
    // Its tool agent prints moves, which are tried on a copy of the board.
    code: { rewards: [5.52], success: false },
    deviations: [4, 9, 10, 17],
  },
];

// The solution is 1234 3412 2143 4321, the example grid of the published prompt; 11 cells are open.
const usual = puzzle("1... .4.. .14. ..2.");
// The same with 1 and 2 exchanged: the solution is 2134 3421 1243 4312.
const renamed = puzzle("2... .4.. .24. ..1.");
const exampleGrid = "[[1,2,3,4],[3,4,1,2],[2,1,4,3],[4,3,2,1]]";

/** The paper: team = 1 if solved; local = .1 format + .1 legality + .8 newly filled / N². */
const sudoku: readonly Golden[] = [
  {
    what: "the solution as a grid",
    task: usual,
    actions: [`#### ${exampleGrid}`],
    // progress 11/11: .1 + .1 + .8
    rewards: [[1, 1]],
    outcome: [true, 1],
    // .1 + .1 + .8 · 11/16
    paper: [[1, 0.75]],
    // −.01 + 2 + .5
    code: { rewards: [2.49], success: true },
    deviations: [4, 6],
  },
  {
    what: "the solution as entries, for which the code pays 2.7 times as much as for the grid",
    task: usual,
    actions: ["[[0,1,2],[0,2,3],[0,3,4],[1,0,3],[1,2,1],[1,3,2],[2,0,2],[2,3,3],[3,0,4],[3,1,3],[3,3,1]]"],
    rewards: [[1, 1]],
    outcome: [true, 1],
    paper: [[1, 0.75]],
    code: { rewards: [6.71], success: true },
    deviations: [4, 6],
  },
  {
    what: "the published prompt's own example grid on another puzzle: the code does not compare clues",
    task: renamed,
    actions: [`#### ${exampleGrid}`],
    rewards: [[0, 0]],
    outcome: [false, 0],
    code: { rewards: [2.49], success: true },
    deviations: [1, 6],
  },
  {
    what: "three right entries of eleven",
    task: usual,
    actions: ["#### [[0,1,2],[0,2,3],[1,0,3]]"],
    // progress 3/11, times .1 + .1 + .8
    rewards: [[3 / 11, 3 / 11]],
    outcome: [false, 3 / 11],
    // .1 + .1 + .8 · 3/16
    paper: [[0, 0.35]],
    code: { rewards: [1.005], success: false },
    deviations: [4, 5, 6, 10],
  },
  {
    what: "the same entries in two turns, and once more",
    task: usual,
    actions: ["b1=2", "c1=3 a2=3", "b1=2 c1=3 a2=3"],
    rewards: [
      [1 / 11, 1 / 11],
      [2 / 11, 2 / 11],
      [0, 0],
    ],
    outcome: [false, 3 / 11],
    // .1 + .1 + .8 · 1/16, then 2/16; then nothing is newly filled.
    paper: [
      [0, 0.25],
      [0, 0.3],
      [0, 0.2],
    ],
    deviations: [4, 5, 10],
  },
  {
    what: "an entry that clashes with a clue",
    task: usual,
    actions: ["[[0,1,1]]"],
    rewards: [[0, 0]],
    outcome: [false, 0],
    // format alone
    paper: [[0, 0.1]],
    code: { rewards: [-0.3], success: false },
    deviations: [5, 6],
  },
  {
    what: "a grid with a digit out of range",
    task: usual,
    actions: [`#### ${exampleGrid.replace("4]", "5]")}`],
    rewards: [[0, 0]],
    outcome: [false, 0],
    code: { rewards: [-1], success: false },
    deviations: [6],
  },
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
const sokoban: readonly Golden[] = [
  {
    what: "a shortest solution",
    task: corridor,
    actions: ['#### ["R", "R"]'],
    rewards: [[1, 1]],
    outcome: [true, 1],
    paper: [[1, 1]],
    // 2 · (−.01) + shaping .201, + 1 for the box, + 10
    code: { rewards: [11.181], success: true },
    deviations: [3],
  },
  {
    what: "a shortest solution in two turns",
    task: corridor,
    actions: ["right", "right"],
    // 2 → 1 moves left: .1 + .1 + .8 · 1/2
    rewards: [
      [0, 0.6],
      [1, 1],
    ],
    outcome: [true, 1],
    paper: [[0], [1]],
    code: { rewards: [0.091, 11.09], success: true },
    deviations: [3],
  },
  {
    what: "one box of two, a turn that pushes nothing, and the other box",
    task: twoBoxes,
    actions: ["right", "left", "down down right"],
    // Moves left: 5 → 4 → 3 → 0. The paper rewards the box on its goal in every turn.
    rewards: [
      [0.5, 0.1 + 0.1 + 0.8 / 5],
      [0, 0.1 + 0.1 + 0.8 / 4],
      [1, 1],
    ],
    outcome: [true, 1],
    paper: [[0.5], [0.5], [1]],
    code: { rewards: [1.091, -0.009, 11.072], success: true },
    deviations: [1, 3],
  },
  {
    what: "a push after which the room cannot be solved",
    task: corner,
    actions: ["RRUL"],
    rewards: [[0, 0.2]],
    outcome: [false, 0],
    paper: [[0, 0.2]],
    code: { rewards: [-0.131], success: false },
    deviations: [3],
  },
];

// Row 1 has its queen on a1; the others are to be placed.
const given = { size: 8, given: "a......." };
const empty = { size: 8, given: "........" };

/** The paper has no numbers for this game. */
const eightQueens: readonly Golden[] = [
  {
    what: "the example of the published prompt on an empty board",
    task: empty,
    actions: ["#### [0,4,7,5,2,6,1,3]"],
    rewards: [[1, 1]],
    outcome: [true, 1],
    // −.01 + .5 + 2 + .5
    code: { rewards: [2.99], success: true },
    deviations: [2],
  },
  {
    what: "a board completed",
    task: given,
    actions: ["[0, 5, 7, 2, 6, 3, 1, 4]"],
    rewards: [[1, 1]],
    outcome: [true, 1],
    code: { rewards: [2.99], success: true },
    deviations: [2],
  },
  {
    what: "a diagonal of queens: 28 conflicts there, the first ends the plan here",
    task: given,
    actions: ["[0, 1, 2, 3, 4, 5, 6, 7]"],
    rewards: [[0, 0]],
    outcome: [false, 0],
    code: { rewards: [-3.3], success: false },
    deviations: [2],
  },
];

/** The paper has no numbers for this game; these are the three tasks of the published code. */
const blocksworld: readonly Golden[] = [
  {
    what: "its first task",
    task: blocksTask("ab c", "ca b"),
    actions: ['[{"move": ["B", "table"]}, {"move": ["A", "C"]}]'],
    rewards: [[1, 1]],
    outcome: [true, 1],
    code: { rewards: [3.313333], success: true },
    deviations: [2],
  },
  {
    what: "its second task",
    task: blocksTask("a bc d", "dcba"),
    actions: ['[{"move": ["C", "D"]}, {"move": ["B", "C"]}, {"move": ["A", "B"]}]'],
    rewards: [[1, 1]],
    outcome: [true, 1],
    code: { rewards: [3.345], success: true },
    deviations: [2],
  },
  {
    what: "its third task",
    task: blocksTask("abc", "cba"),
    actions: ['[{"move": ["C", "table"]}, {"move": ["B", "C"]}, {"move": ["A", "B"]}]'],
    rewards: [[1, 1]],
    outcome: [true, 1],
    code: { rewards: [3.303333], success: true },
    deviations: [2],
  },
  {
    what: "a block with another on it",
    task: blocksTask("ab c", "ca b"),
    actions: ['[{"move": ["A", "C"]}]'],
    // .1 + .1 · 0/1 + 0
    rewards: [[0, 0.1]],
    outcome: [false, 0],
    code: { rewards: [-0.3], success: false },
    deviations: [2],
  },
  {
    what: "40 moves that undo each other, for which the code pays 1.6",
    task: blocksTask("ab c", "ca b"),
    actions: [
      `[${Array.from({ length: 20 }, () => '{"move": ["B", "table"]}, {"move": ["B", "A"]}').join(", ")}]`,
    ],
    rewards: [[0, 0.2]],
    outcome: [false, 0],
    code: { rewards: [1.6], success: false },
    deviations: [2],
  },
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
async function scored(environment: string, cases: readonly Golden[]): Promise<ScoredLine[]> {
  const lines = cases.map(({ task, actions }) => JSON.stringify({ task, actions: actions.map(bySeat) }));
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

function bySeat(action: Golden["actions"][number]): Readonly<Record<string, string>> {
  return typeof action === "string" ? { planner: action } : action;
}

describe.each(games)("$environment", ({ environment, cases }) => {
  let results: ScoredLine[];
  beforeAll(async () => {
    results = await scored(environment, cases);
  });

  it.each(cases.map((golden, index) => ({ ...golden, index })))("$what", ({ index, rewards, outcome }) => {
    const result = results[index] as ScoredLine;
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
  const all = games.flatMap(({ section, cases }) => cases.map((golden) => ({ section, ...golden })));

  it.each(all)("$section: $what", ({ section, deviations = [], ...golden }) => {
    expect(entriesOf(section)).toEqual(expect.arrayContaining([...deviations]));
    expect(deviations.length > 0).toBe(differs(golden));
  });
});

/** From the paper's rewards or from the code's. */
function differs({ rewards, outcome, paper = [], code }: Golden): boolean {
  const fromPaper = paper.some(([team, local], index) => {
    const ours = rewards[index] ?? [NaN, NaN];
    return !isNear(team, ours[0]) || (local !== undefined && !isNear(local, ours[1]));
  });
  const fromCode = code?.rewards.some((value, index) => {
    const [team, local] = rewards[index] ?? [NaN, NaN];
    return !isNear(value, team + local);
  });
  return fromPaper || fromCode === true || (code !== undefined && code.success !== outcome[0]);
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) < 1e-9;
}
