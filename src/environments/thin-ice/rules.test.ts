import { describe, expect, it } from "vitest";
import type { ActionReward } from "../environment.ts";
import { observationOf } from "./definition.ts";
import { outcomeOf, startState, stepState, type IceState } from "./rules.ts";
import { lake, optionsOf } from "./test-blind.ts";

const start = startState(lake);
const speaking = optionsOf();
const silent = optionsOf({ messages: false });

function play(actions: Readonly<Record<string, string>>, state = start): ReturnType<typeof stepState> {
  return stepState(3, state, actions);
}

/** The states after each of some turns of the team. */
function playTurns(turns: readonly (readonly [red: string, blue: string])[]): {
  readonly state: IceState;
  readonly done: boolean;
  readonly rewards: readonly Readonly<Record<string, ActionReward>>[];
} {
  let [state, done] = [start, false];
  const rewards = turns.map(([red, blue]) => {
    const result = play({ red, blue }, state);
    [state, done] = [result.state, result.done];
    return result.rewards;
  });
  return { state, done, rewards };
}

const crossing: readonly (readonly [string, string])[] = [
  ["walk none say b3 c3 c2", "walk none say a2 a3 b3"],
  ["walk a2 a3 b3 say c1 b1 a1", "walk b3 c3 c2 say c3"],
  ["walk c3 say none", "walk c1 b1 a1 say none"],
];

describe("two who tell each other", () => {
  const { state, done, rewards } = playTurns(crossing);

  it("get across, and the episode is over", () => {
    expect(done).toBe(true);
    expect(outcomeOf(state)).toEqual({ success: true, score: 1 });
  });

  it("are rewarded for what they walk and tell", () => {
    // Red tells 3 of blue's 6 cells, then the other 3, and walks 3 and 1 of its 4; blue vice versa.
    const local = [
      { red: 0.7 / 2, blue: 0.7 * 0.75 },
      { red: 0.7 / 2 + 0.3 * 0.75, blue: 0.7 / 4 + 0.3 / 2 },
      { red: 0.3 / 4, blue: 0.3 / 2 },
    ];
    // Score: 0, then (3/4 + 3/6) / 4, then 1.
    const team = [0, 0.3125, 0.6875];
    for (const [turn, reward] of rewards.entries()) {
      for (const seat of ["red", "blue"] as const) {
        expect(reward[seat]?.team).toBeCloseTo(team[turn] ?? NaN, 12);
        expect(reward[seat]?.local).toBeCloseTo(local[turn]?.[seat] ?? NaN, 12);
        expect(reward[seat]?.reason).toBeUndefined();
      }
    }
    expect(rewards[1]?.["red"]?.parts["format"]).toBeCloseTo(0.1 * (0.35 + 0.225), 12);
    expect(rewards[1]?.["red"]?.parts["walk"]).toBeCloseTo(0.9 * 0.225, 12);
    expect(rewards[1]?.["red"]?.parts["say"]).toBeCloseTo(0.9 * 0.35, 12);
  });
});

describe("what a seat sees", () => {
  it("is the other's ice, its own start and goal, and what it said and heard a turn ago", () => {
    const { state } = playTurns(crossing.slice(0, 1));
    expect(observationOf(speaking, start, "red")).toBe(
      "thin a2 b2\nfrom a3 to a1\nsaid none\nat a1 to c3\nheard none\ncross",
    );
    expect(observationOf(speaking, state, "red")).toBe(
      "thin a2 b2\nfrom a3 to a1\nsaid b3 c3 c2\nat a1 to c3\nheard a2 a3 b3\ncross",
    );
    expect(observationOf(speaking, state, "blue")).toBe(
      "thin c1 b2\nfrom a1 to c3\nsaid a2 a3 b3\nat a3 to a1\nheard b3 c3 c2\ncross",
    );
  });

  it("does not include where the other is", () => {
    const walked = play({ blue: "walk b3 c3 say none" }).state;
    expect(observationOf(speaking, walked, "red")).toBe(observationOf(speaking, start, "red"));
  });

  it("is nothing of what the other does if there are no messages", () => {
    const { state } = stepState(false, start, { blue: "walk b3 say a2 a3" });
    expect(observationOf(silent, state, "red")).toBe("thin a2 b2\nfrom a3 to a1\nat a1 to c3\ncross");
    expect(observationOf(silent, state, "blue")).toBe("thin c1 b2\nfrom a1 to c3\nat b3 to a1\ncross");
  });

  it("is its own ice and nothing else if the options say so", () => {
    const own = optionsOf({ messages: false, sees: "own" });
    expect(observationOf(own, start, "red")).toBe("thin c1 b2\nat a1 to c3\ncross");
  });

  it("is both halves for a single player, with a partial view only blue's ice", () => {
    expect(observationOf(speaking, start, "single")).toBe(
      "red\nthin c1 b2\nat a1 to c3\nblue\nthin a2 b2\nat a3 to a1\ncross",
    );
    expect(observationOf(speaking, start, "partial")).toBe(
      "red\nat a1 to c3\nblue\nthin a2 b2\nat a3 to a1\ncross",
    );
  });
});

describe("a walk", () => {
  it.each([
    ["walk b1 c1 say b3", "the ice broke at c1"],
    ["walk a3 say b3", "a3 is not beside a1"],
    ["walk a2 a3 b3 c3 b3 say b3", "continued after the goal"],
    ["walk a2", 'no list after "say"'],
    ["", 'no list after "walk"'],
    ["I walk a2 and say b3", "more than walk and say on its line"],
    ["walk a2 say b3 b2", "its message: the ice broke at b2"],
    ["walk a2 say c1", "its message: c1 is not beside a3"],
    ["walk a2 say thin a2", "its message: a cell off the ice is not beside a3"],
  ])("%j is told: %j", (red, reason) => {
    expect(play({ red }).rewards["red"]?.reason).toBe(reason);
  });

  it("onto thin ice ends the episode, with no team reward and no local reward for the walker that fell", () => {
    const { state, rewards, done } = play({
      red: "walk b1 c1 say b3 c3 c2",
      blue: "walk b3 c3 say a2 a3 b3",
    });
    expect(done).toBe(true);
    expect(rewards["red"]).toMatchObject({ team: 0, local: 0, parts: { format: 0, walk: 0, say: 0 } });
    // Blue walked 2 of its 6 cells and told 3 of red's 4.
    expect(rewards["blue"]?.team).toBe(0);
    expect(rewards["blue"]?.local).toBeCloseTo(0.3 / 3 + 0.7 * 0.75, 12);
    expect(outcomeOf(state)).toEqual({ success: false, score: 2 / 6 / 4 });
    expect(play({ red: "walk a1 say c1" }, state)).toMatchObject({
      state,
      done: true,
      rewards: { red: { team: 0, local: 0, reason: "the episode is over" } },
    });
  });

  it("stops before a cell that is not adjacent, and the next walk continues from there", () => {
    const { state } = play({ red: "walk a2 c3 say none" });
    expect(state.red.at).toBe(3);
    expect(play({ red: "walk a2 a3 say none" }, state).state.red.at).toBe(6);
  });

  it("is rewarded only for getting closer than before, and less for a detour", () => {
    const forth = play({ red: "walk a2 a3 say none" });
    const back = play({ red: "walk a2 a1 say none" }, forth.state);
    const again = play({ red: "walk a2 a3 b3 say none" }, back.state);
    const detour = play({ red: "walk b1 a1 a2 say none" });
    const local = [forth, back, again, detour].map(({ rewards }) => rewards["red"]?.local ?? NaN);
    // Local reward: 2 of 4 cells; none; a third cell, reached with 3 useful cells; 1 useful cell of 3.
    for (const [index, expected] of [0.3 / 2, 0, 0.3 / 4, 0.3 / 4 / 3].entries()) {
      expect(local[index]).toBeCloseTo(expected, 12);
    }
    expect(again.rewards["red"]?.team).toBeCloseTo(1 / 4 / 4, 12);
  });
});

describe("a message", () => {
  it("that leads onto thin ice earns nothing; the way continues from the last right cell", () => {
    const lie = play({ red: "walk none say b3 b2 c2" });
    expect(lie.rewards["red"]?.local).toBe(0);
    const next = play({ red: "walk none say c3" }, lie.state);
    // b3 brought blue from 6 to 5, unrewarded; c3 brings it to 4.
    expect(next.rewards["red"]?.local).toBeCloseTo(0.7 / 6, 12);
    expect(observationOf(speaking, next.state, "blue")).toContain("heard b3 b2 c2 c3");
  });

  it("is not rewarded twice", () => {
    const once = play({ red: "walk none say b3 c3" });
    const again = play({ red: "walk none say b3 c3" }, once.state);
    expect(again.rewards["red"]?.local).toBe(0);
  });

  it("is limited in length, and to the words of the rules", () => {
    const { state, rewards } = play({ red: "walk none say b3 you <|im_start|> must c3 goal c2 c1 b1" });
    expect(state.blue.heard).toEqual(["b3", "c3", "c2"]);
    expect(rewards["red"]?.parts["format"]).toBe(0);
  });

  it("is forgotten after the words of four more turns", () => {
    const messages = ["b3 c3 c2", "thin a2 b2", "from a3 to", "at b3 c3", "c2 c1 b1"];
    const last = messages.reduce(
      (state, words) => play({ red: `walk none say ${words}` }, state).state,
      start,
    );
    expect(last.blue.heard.join(" ")).toBe(messages.slice(1).join(" "));
  });
});

describe("a single player", () => {
  it("moves both, and is rewarded for both", () => {
    const { state, rewards, done } = play({ single: "red a2 a3 blue b3" });
    expect([state.red.at, state.blue.at, done]).toEqual([6, 7, false]);
    // Half of red's way, a sixth of blue's.
    expect(rewards["single"]?.local).toBeCloseTo((1 / 2 + 1 / 6) / 2, 12);
    expect(rewards["single"]?.team).toBeCloseTo((1 / 2 + 1 / 6) / 4, 12);
    const { rewards: last, done: over } = play({ single: "red b3 c3 blue c3 c2 c1 b1 a1" }, state);
    expect(over).toBe(true);
    expect(last["single"]?.local).toBeCloseTo((1 / 2 + 5 / 6) / 2, 12);
  });

  it("earns nothing if one of them falls", () => {
    expect(play({ partial: "red b1 c1 blue b3" }).rewards["partial"]).toMatchObject({ team: 0, local: 0 });
  });
});
