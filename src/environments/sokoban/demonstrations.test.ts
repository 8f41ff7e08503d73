import { describe, expect, it } from "vitest";
import { rootKey } from "../../random.ts";
import type { Demonstration } from "../environment.ts";
import { drawExamples, ofSeat } from "../planning/test-examples.ts";
import { cellsByName } from "../grid/cells.ts";
import { movesLeft } from "./room.ts";
import type { SokobanState } from "./rules.ts";
import { sokobanEnvironment } from "./test-rooms.ts";

const seats = ["proposer", "planner"];
const environment = sokobanEnvironment();

function drawn(options: object, asked: readonly string[] = seats, count = 300): Demonstration[] {
  return drawExamples(sokobanEnvironment({ demonstrations: options }), asked, count);
}

/** The state that an observation shows. */
function stateOf(observation: string): SokobanState {
  const lines = new Map(
    observation.split("\n").map((line) => [line.split(" ")[0], line.split(" ").slice(1)]),
  );
  const cells = (name: string): number[] =>
    (lines.get(name) ?? []).map((cell) => cellsByName(6).get(cell) ?? -1);
  const inner = new Set(cells("walls"));
  const walls = Array.from({ length: 36 }, (_, cell) => {
    const edge = [0, 5].some((line) => line === Math.floor(cell / 6) || line === cell % 6);
    return edge || inner.has(cell) ? "#" : ".";
  }).join("");
  return environment.start({
    room: { size: 6, walls, goals: cells("goal") },
    at: cells("at")[0] ?? 0,
    boxes: cells("box"),
  });
}

function routeShown({ observation }: Demonstration): string | undefined {
  return /^proposer (.*)$/m.exec(observation)?.[1];
}

describe("demonstrations", () => {
  it("are optimal plays, also next to a wrong proposal", () => {
    for (const { seat, observation, action } of drawn({ wrongProposal: 0.5, startsPerRoom: 4 })) {
      const { rewards } = environment.step(stateOf(observation), { [seat]: action });
      expect(rewards[seat]).toMatchObject({ team: 1 });
      expect(rewards[seat]?.local).toBeCloseTo(1, 9);
    }
  });

  it("follow the proposal shown if it is right", () => {
    for (const example of ofSeat("planner", drawn({ alone: 0, wrongProposal: 0 }))) {
      const state = stateOf(example.observation);
      const after = environment.step(state, { planner: example.action }).state;
      const pushed = (routeShown(example) ?? "").split(" ").at(-1) ?? "";
      expect(after.boxes).toEqual([cellsByName(6).get(pushed)]);
    }
  });

  it("show a proposal, a wrong one or none in the requested shares", () => {
    const planner = ofSeat("planner", drawn({ proposer: 0, alone: 0.25, wrongProposal: 0.4 }, seats, 2000));
    const alone = planner.filter((example) => routeShown(example) === undefined);
    const wrong = planner.filter((example) => {
      const shown = routeShown(example);
      const { rewards } = environment.step(stateOf(example.observation), { proposer: shown ?? "" });
      return shown !== undefined && rewards["proposer"]?.team !== 1;
    });
    // Binomial over 2000, standard error .01.
    expect(alone.length / 2000).toBeGreaterThan(0.21);
    expect(alone.length / 2000).toBeLessThan(0.29);
    // .75 × .4 = .3 are spoiled; some kinds of spoiling occasionally leave a solution.
    expect(wrong.length / 2000).toBeGreaterThan(0.2);
    expect(wrong.length / 2000).toBeLessThan(0.33);
  });

  it("are the proposer's in the requested share", () => {
    // Binomial over 2000 with p = .3, standard error .01.
    const share = ofSeat("proposer", drawn({ proposer: 0.3 }, seats, 2000)).length / 2000;
    expect(share).toBeGreaterThan(0.26);
    expect(share).toBeLessThan(0.34);
  });

  it("report cells next to the player that cannot be entered, and no others", () => {
    const told = drawn({ bumped: 1 }).filter(({ observation }) => observation.includes("bumped"));
    expect(told.length).toBeGreaterThan(200);
    for (const { observation } of told) {
      const [, at = "", bumped = ""] = /at (\S+)\nbumped (\S+)/.exec(observation) ?? [];
      const apart = Math.abs((cellsByName(6).get(at) ?? 0) - (cellsByName(6).get(bumped) ?? 0));
      expect([1, 6]).toContain(apart);
    }
    expect(drawn({ bumped: 0 }).some(({ observation }) => observation.includes("bumped"))).toBe(false);
  });

  it("stop after a move as often as requested, and make progress until then", () => {
    const planner = ofSeat("planner", drawn({ breakOff: 0.5, proposer: 0 }, ["planner"], 1000));
    const moves = planner.map(({ action }) => action.split(" ").length);
    for (const { observation, action } of planner) {
      const state = stateOf(observation);
      const { state: after, rewards } = environment.step(state, { planner: action });
      const left = movesLeft(state.room, state.at, state.boxes);
      expect(rewards["planner"]?.reason).toBeUndefined();
      expect(movesLeft(after.room, after.at, after.boxes)).toBe(left - action.split(" ").length);
    }
    // One move: half of those that have more moves. Solutions of one move are rare among starts.
    expect(moves.filter((count) => count === 1).length / 1000).toBeCloseTo(0.5, 1);
  });

  it("of a single planner show no proposal", () => {
    const examples = drawn({}, ["planner"], 50);
    expect(examples).toHaveLength(50);
    expect(examples.some((example) => routeShown(example) !== undefined)).toBe(false);
  });

  it("of several positions in one room begin with the same lines", () => {
    const taught = sokobanEnvironment({ demonstrations: { startsPerRoom: 8 } });
    const examples = taught.demonstrations?.(rootKey(4), seats) ?? [];
    expect(examples).toHaveLength(8);
    const beginnings = examples.map(({ observation }) => observation.split("\n").slice(0, 2).join());
    expect(new Set(beginnings).size).toBe(1);
    expect(new Set(examples.map(({ observation }) => observation)).size).toBeGreaterThan(5);
  });

  it("are the same for a key", () => {
    expect(drawn({}, seats, 5)).toEqual(drawn({}, seats, 5));
  });
});
