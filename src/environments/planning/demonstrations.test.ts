/** What the warm-start examples of the games with a planner have in common. */
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { splitOf as splitOfBlocks } from "../blocksworld/generator.ts";
import type { BlocksState } from "../blocksworld/rules.ts";
import { movesBetween } from "../blocksworld/space.ts";
import { blocksEnvironment, taskOf as blocksTask } from "../blocksworld/test-blocks.ts";
import type { Demonstration, Json } from "../environment.ts";
import type { Game } from "../game.ts";
import { distancesTo } from "../grid/board.ts";
import { cellsByName } from "../grid/cells.ts";
import { splitOf as splitOfBoard } from "../plan-path/generator.ts";
import type { PathState } from "../plan-path/rules.ts";
import { pathEnvironment } from "../plan-path/test-boards.ts";
import { splitOf as splitOfRoom } from "../sokoban/generator.ts";
import { movesLeft } from "../sokoban/room.ts";
import type { SokobanState } from "../sokoban/rules.ts";
import { sokobanEnvironment } from "../sokoban/test-rooms.ts";

interface Taught<State extends Json = Json> {
  readonly name: string;
  readonly create: (options: object) => Game<Json, State>;
  /** The seat whose proposals are shown, and the options of the examples that are named after it. */
  readonly proposer: string;
  readonly wrong: string;
  readonly several: string;
  readonly failed: string;
  /** Lines with which all examples of one key begin. */
  readonly sameLines: number;
  /** The state that an observation shows. */
  readonly stateOf: (observation: string) => State;
  readonly splitOf: (state: State) => string;
  /** Actions to a solution. */
  readonly left: (state: State) => number;
  readonly lengthOf: (example: Demonstration) => number;
  /** Whether the plan carries out the proposal. */
  readonly follows: (plan: string, proposal: string, after: State) => boolean;
  /** Whether what is reported cannot be done. */
  readonly isImpossible: (observation: string) => boolean;
  /** Bounds on the shares of wrong proposals, of examples that report a failure, and of plans of one action. */
  readonly shares: Readonly<Record<"wrong" | "failed" | "single", readonly [number, number]>>;
}

const wordsOf = (text: string): string[] => text.split(" ").filter((word) => word !== "");
const cellOf = (size: number, name = ""): number => cellsByName(size).get(name) ?? -1;

/** The words of each line after its first. */
function linesOf(observation: string): ReadonlyMap<string, readonly string[]> {
  const lines = observation.split("\n").map((line) => wordsOf(line));
  return new Map(lines.map(([first = "", ...rest]) => [first, rest]));
}

function boardState(observation: string): PathState {
  const lines = linesOf(observation);
  const walls = new Set(lines.get("walls")?.map((name) => cellOf(10, name)));
  const cells = Array.from({ length: 100 }, (_, index) => (walls.has(index) ? "#" : "."));
  const [at, goal] = ["at", "goal"].map((line) => cellOf(10, lines.get(line)?.[0]));
  return pathEnvironment().start({
    board: { size: 10, walls: cells.join(""), goal: goal ?? -1 },
    start: at ?? -1,
  });
}

function roomState(observation: string): SokobanState {
  const lines = linesOf(observation);
  const cells = (line: string): number[] => (lines.get(line) ?? []).map((name) => cellOf(6, name));
  const inner = new Set(cells("walls"));
  const walls = Array.from({ length: 36 }, (_, cell) => {
    const edge = [0, 5].some((line) => line === Math.floor(cell / 6) || line === cell % 6);
    return edge || inner.has(cell) ? "#" : ".";
  }).join("");
  const room = { size: 6, walls, goals: cells("goal") };
  return sokobanEnvironment().start({ room, at: cells("at")[0] ?? 0, boxes: cells("box") });
}

function blocksState(observation: string): BlocksState {
  const [, goal = "", now = ""] = /^goal table (.*)\nnow table (.*)$/m.exec(observation) ?? [];
  const [wanted = "", standing = ""] = [goal, now].map((line) =>
    line.replaceAll(" table ", "|").replaceAll(" ", "").replaceAll("|", " "),
  );
  return blocksEnvironment().start(blocksTask(standing, wanted));
}

const planPath: Taught<PathState> = {
  name: "plan-path",
  create: (options) => pathEnvironment(options),
  proposer: "scout",
  wrong: "wrongRoute",
  several: "tasksPerBoard",
  failed: "bumped",
  sameLines: 1,
  stateOf: boardState,
  splitOf: ({ board }) => splitOfBoard(board),
  left: ({ board, at }) => distancesTo(board)[at] ?? NaN,
  lengthOf: ({ seat, action }) => wordsOf(action).length - (seat === "scout" ? 1 : 0),
  follows(plan, proposal) {
    const cells = wordsOf(proposal).map((name) => cellOf(10, name));
    const moves = cells.slice(1).map((cell, index) => cell - (cells[index] ?? 0));
    const words: Readonly<Record<number, string>> = { [-10]: "up", 10: "down", [-1]: "left", 1: "right" };
    return plan === moves.map((move) => words[move]).join(" ");
  },
  isImpossible(observation) {
    const [, at, wall = ""] = /at (\S+)\ngoal \S+\nbumped (\S+)/.exec(observation) ?? [];
    const apart = Math.abs(cellOf(10, at) - cellOf(10, wall));
    return [1, 10].includes(apart) && linesOf(observation).get("walls")?.includes(wall) === true;
  },
  // .75 × .4 = .3 of the routes are spoiled; one of four kinds, straight through the walls, sometimes happens to meet none.
  // One or two neighbours are nearer to the goal, each a wall with p = .22: between .22 and 1 - .78² = .39 have one.
  // One move: half of those with more moves (about .9 of the tasks), and all of the others.
  shares: { wrong: [0.2, 0.31], failed: [0.22, 0.43], single: [0.5, 0.6] },
};

const sokoban: Taught<SokobanState> = {
  name: "sokoban",
  create: (options) => sokobanEnvironment(options),
  proposer: "proposer",
  wrong: "wrongProposal",
  several: "startsPerRoom",
  failed: "bumped",
  sameLines: 2,
  stateOf: roomState,
  splitOf: ({ room }) => splitOfRoom(room),
  left: ({ room, at, boxes }) => movesLeft(room, at, boxes),
  // A push has two words, and a cell ends the list.
  lengthOf: ({ seat, action }) =>
    seat === "planner" ? wordsOf(action).length : (action.match(/up|down|left|right/g)?.length ?? 0),
  follows: (_, proposal, { boxes }) => boxes.join() === String(cellOf(6, wordsOf(proposal).at(-1))),
  isImpossible(observation) {
    const [, at, wall] = /at (\S+)\nbumped (\S+)/.exec(observation) ?? [];
    return [1, 6].includes(Math.abs(cellOf(6, at) - cellOf(6, wall)));
  },
  // Some kinds of spoiling occasionally leave a solution. Solutions of one move are rare among starts.
  shares: { wrong: [0.2, 0.33], failed: [0.67, 1], single: [0.45, 0.8] },
};

const blocksworld: Taught<BlocksState> = {
  name: "blocksworld",
  create: (options) => blocksEnvironment(options),
  proposer: "proposer",
  wrong: "wrongProposal",
  several: "startsPerGoal",
  failed: "failed",
  sameLines: 1,
  stateOf: blocksState,
  splitOf: splitOfBlocks,
  left: ({ on, goal }) => movesBetween(on, goal),
  lengthOf: ({ seat, action }) =>
    seat === "planner" ? (action.match(/move/g)?.length ?? 0) : wordsOf(action).length,
  follows: (plan, proposal) =>
    Array.from(plan.matchAll(/move (\S)/g), ([, block]) => block).join(" ") === proposal,
  isImpossible(observation) {
    const [, block, to] = /failed (\S+) (\S+)/.exec(observation) ?? [];
    const { state } = blocksEnvironment().step(blocksState(observation), { planner: `move ${block} ${to}` });
    return state.moved.length === 0;
  },
  // .75 × .4 = .3 are random orders, of which a few happen to be right. Plans of one move are rare.
  shares: { wrong: [0.24, 0.33], failed: [0.34, 1], single: [0.45, 0.55] },
};

const games = [planPath, sokoban, blocksworld] as unknown as readonly Taught[];

function checkShare(share: number, [least, most]: readonly [number, number]): void {
  expect(share).toBeGreaterThan(least);
  expect(share).toBeLessThan(most);
}

describe.each(games)("demonstrations of $name", (game) => {
  const { proposer, stateOf, left, shares } = game;
  const team = [proposer, "planner"];
  const rules = game.create({});
  const drawn = (options: object, count = 300, seats: readonly string[] = team): Demonstration[] => {
    const taught = game.create({ demonstrations: options });
    const keys = Array.from({ length: count }, (_, index) => childKey(rootKey(2), index));
    return keys.flatMap((key) => taught.demonstrations?.(key, seats) ?? []);
  };
  const played = ({ seat, observation, action }: Demonstration) => {
    const before = stateOf(observation);
    const { state, rewards } = rules.step(before, { [seat]: action });
    return { before, after: state, reward: rewards[seat] };
  };
  const shown = ({ observation }: Demonstration): string | undefined =>
    new RegExp(`^${proposer} (.*)$`, "m").exec(observation)?.[1];

  it("are optimal plays of training tasks, also next to a wrong proposal", () => {
    for (const example of drawn({ [game.wrong]: 0.5, [game.several]: 4 }, 75)) {
      const { before, reward } = played(example);
      expect([game.splitOf(before), reward?.team]).toEqual(["train", 1]);
      expect(reward?.local).toBeCloseTo(1, 9);
    }
  });

  it("follow the proposal shown if it is right", () => {
    for (const example of drawn({ [proposer]: 0, alone: 0, [game.wrong]: 0 })) {
      const { after } = played(example);
      expect(game.follows(example.action, shown(example) ?? "", after)).toBe(true);
    }
  });

  // Binomial over 1000, standard error .014.
  it("are the proposer's, and show a proposal, a wrong one or none, in the requested shares", () => {
    const proposed = drawn({ [proposer]: 0.3 }, 1000).filter(({ seat }) => seat === proposer);
    expect(Math.abs(proposed.length / 1000 - 0.3)).toBeLessThan(0.04);
    const planned = drawn({ [proposer]: 0, alone: 0.25, [game.wrong]: 0.4 }, 1000);
    const proposals = planned.filter((example) => shown(example) !== undefined);
    checkShare(1 - proposals.length / 1000, [0.21, 0.29]);
    const wrong = proposals.filter((example) => {
      const { rewards } = rules.step(stateOf(example.observation), { [proposer]: shown(example) ?? "" });
      return rewards[proposer]?.team !== 1;
    });
    checkShare(wrong.length / 1000, shares.wrong);
  });

  it("stop after an action as often as requested, and are optimal until then", () => {
    const plans = drawn({ breakOff: 0.5 }, 600, ["planner"]);
    for (const example of plans) {
      const { before, after, reward } = played(example);
      expect([reward?.reason, left(after)]).toEqual([undefined, left(before) - game.lengthOf(example)]);
    }
    const proposals = drawn({ breakOff: 0.5, [proposer]: 1 }, 600);
    const reasons = proposals.map((example) => played(example).reward?.reason);
    expect(reasons).toEqual(proposals.map(() => undefined));
    for (const some of [plans, proposals]) {
      const lengths = some.map(game.lengthOf);
      expect(Math.min(...lengths)).toBe(1);
      checkShare(lengths.filter((length) => length === 1).length / 600, shares.single);
    }
  });

  it("report actions that failed in the requested share, and only impossible ones", () => {
    const told = drawn({ [game.failed]: 1 }).filter(({ observation }) => observation.includes(game.failed));
    checkShare(told.length / 300, shares.failed);
    expect(told.filter(({ observation }) => !game.isImpossible(observation))).toEqual([]);
    expect(drawn({ [game.failed]: 0 }).some(({ observation }) => observation.includes(game.failed))).toBe(
      false,
    );
  });

  it("of a single planner show no proposal; several of one key begin with the same lines", () => {
    const examples = drawn({ [game.several]: 8 }, 1, ["planner"]);
    expect(examples.map(({ seat }) => seat)).toEqual(Array(8).fill("planner"));
    expect(examples.map(shown)).toEqual(Array(8).fill(undefined));
    const beginning = ({ observation }: Demonstration) =>
      observation.split("\n").slice(0, game.sameLines).join();
    expect(new Set(examples.map(beginning)).size).toBe(1);
    expect(new Set(examples.map(({ observation }) => observation)).size).toBeGreaterThan(5);
  });
});

it("paths of plan-path are canonical if requested", () => {
  const taught = pathEnvironment({ demonstrations: { paths: "canonical" } });
  const examples = Array.from({ length: 50 }, (_, seed) => taught.demonstrations?.(rootKey(seed), ["scout"]));
  for (const { observation, action } of examples.flatMap((some) => some ?? []))
    expect(action).toBe(taught.solve?.(boardState(observation), "scout"));
});
