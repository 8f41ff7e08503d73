import { describe, expect, it } from "vitest";
import type { Demonstration } from "../environment.ts";
import { drawExamples, ofSeat } from "../planning/test-examples.ts";
import { splitOf } from "./generator.ts";
import type { BlocksState } from "./rules.ts";
import { blocksEnvironment, taskOf } from "./test-blocks.ts";

const seats = ["proposer", "planner"];
const environment = blocksEnvironment();

function drawn(options: object, asked: readonly string[] = seats, count = 300): Demonstration[] {
  return drawExamples(blocksEnvironment({ demonstrations: options }), asked, count);
}

/** The state that an observation shows. */
function stateOf(observation: string): BlocksState {
  const [, goal = "", now = ""] = /^goal table (.*)\nnow table (.*)$/m.exec(observation) ?? [];
  const [wanted = "", standing = ""] = [goal, now].map((line) =>
    line
      .split(" table ")
      .map((tower) => tower.replaceAll(" ", ""))
      .join(" "),
  );
  return environment.start(taskOf(standing, wanted));
}

function orderShown({ observation }: Demonstration): string | undefined {
  return /^proposer (.*)$/m.exec(observation)?.[1];
}

describe("demonstrations", () => {
  it("are optimal plays of training tasks, also next to a wrong order", () => {
    for (const { seat, observation, action } of drawn({ wrongProposal: 0.5, startsPerGoal: 4 })) {
      const state = stateOf(observation);
      expect(splitOf(state)).toBe("train");
      expect(environment.step(state, { [seat]: action }).rewards[seat]).toMatchObject({ team: 1, local: 1 });
    }
  });

  it("follow the order shown if it is right", () => {
    for (const example of ofSeat("planner", drawn({ alone: 0, wrongProposal: 0 }))) {
      const moved = Array.from(example.action.matchAll(/move (\S)/g), ([, block]) => block).join(" ");
      expect(moved).toBe(orderShown(example));
    }
  });

  it("show an order, a wrong one or none in the requested shares", () => {
    const planner = ofSeat("planner", drawn({ proposer: 0, alone: 0.25, wrongProposal: 0.4 }, seats, 2000));
    const alone = planner.filter((example) => orderShown(example) === undefined);
    const wrong = planner.filter((example) => {
      const shown = orderShown(example);
      const { rewards } = environment.step(stateOf(example.observation), { proposer: shown ?? "" });
      return shown !== undefined && rewards["proposer"]?.team !== 1;
    });
    // Binomial over 2000, standard error .01.
    expect(alone.length / 2000).toBeGreaterThan(0.21);
    expect(alone.length / 2000).toBeLessThan(0.29);
    // .75 × .4 = .3 are random orders, of which a few happen to be right.
    expect(wrong.length / 2000).toBeGreaterThan(0.24);
    expect(wrong.length / 2000).toBeLessThan(0.33);
  });

  it("stop after a move as often as requested, and are optimal until then", () => {
    const examples = drawn({ breakOff: 0.5, wrongProposal: 0 }, seats, 1000);
    for (const { seat, observation, action } of examples) {
      const { reason, team } = environment.step(stateOf(observation), { [seat]: action }).rewards[seat] ?? {};
      expect(reason).toBeUndefined();
      expect(team).toBeGreaterThan(0);
    }
    const orders = ofSeat("proposer", examples).map(({ action }) => action.split(" ").length);
    // One move: half of those that have more moves; plans of one move are rare.
    expect(orders.filter((length) => length === 1).length / orders.length).toBeCloseTo(0.5, 1);
  });

  it("report impossible moves", () => {
    const told = drawn({ failed: 1 }).filter(({ observation }) => observation.includes("failed"));
    expect(told.length).toBeGreaterThan(100);
    for (const { observation } of told) {
      const [, block, to] = /failed (\S+) (\S+)/.exec(observation) ?? [];
      const { state } = environment.step(stateOf(observation), { planner: `move ${block} ${to}` });
      expect(state.moved).toEqual([]);
    }
    expect(drawn({ failed: 0 }).some(({ observation }) => observation.includes("failed"))).toBe(false);
  });

  it("of a single planner show no order; several starts share a goal", () => {
    const examples = drawn({ startsPerGoal: 8 }, ["planner"], 1);
    expect(examples).toHaveLength(8);
    expect(examples.some((example) => orderShown(example) !== undefined)).toBe(false);
    expect(new Set(examples.map(({ observation }) => observation.split("\n")[0])).size).toBe(1);
    expect(drawn({}, seats, 5)).toEqual(drawn({}, seats, 5));
  });
});
