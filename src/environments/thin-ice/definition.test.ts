import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import type { Demonstration } from "../environment.ts";
import { cellsByName, moveBetween } from "../grid/cells.ts";
import { demonstrate, renderState } from "./definition.ts";
import { startState, stepState } from "./rules.ts";
import { lake, optionsOf } from "./test-blind.ts";

it("a lake shows both halves, the walkers, and what was said", () => {
  const { state } = stepState(3, startState(lake), { red: "walk a2 a3 say b3", blue: "walk b3 b2 say none" });
  expect(renderState(state)).toBe(
    [
      "   red         blue",
      "   a b c       a b c",
      " 1 ○ · ░░    1 ◎ · ·",
      " 2 • ░░·     2 ░░✗ ·",
      " 3 ● · ◎     3 ○ • ·",
      "   ● walker   ◎ goal   ○ start   • last walk   ░░ thin ice",
      "   red was told nothing",
      "   blue fell through the ice",
    ].join("\n"),
  );
});

function drawn(options: object, seats: readonly string[], count = 400): Demonstration[] {
  const keys = Array.from({ length: count }, (_, index) => childKey(rootKey(2), index));
  return keys.flatMap((key) => demonstrate(optionsOf(options), key, seats));
}

/** The words after a label, up to the end of the line or the next label. */
function after(label: string, text: string): string[] {
  const words =
    new RegExp(`(?:^|\\s)${label} ((?:(?:[a-d][1-4]|none) ?)+)`).exec(text)?.[1]?.trim().split(" ") ?? [];
  return words.filter((word) => word !== "none");
}

function number(word: string | undefined): number {
  return cellsByName(4).get(word ?? "") ?? -1;
}

/** Whether consecutive cells are adjacent and none is thin. */
function isSafeWay(cells: readonly string[], thin: readonly string[]): boolean {
  return cells.every(
    (cell, index) =>
      index === 0 || (moveBetween(4, number(cells[index - 1]), number(cell)) >= 0 && !thin.includes(cell)),
  );
}

/** The number of words of each of 300 first messages. */
function said(breakOff: number): number[] {
  const examples = drawn({ demonstrations: { breakOff, begun: 0 } }, ["red"], 300);
  return examples.map(({ action }) => after("say", action).length);
}

describe("demonstrations of the team", () => {
  const examples = drawn({ demonstrations: { breakOff: 0.3 } }, ["red", "blue"]);

  it("walk only where they were told", () => {
    for (const { observation, action } of examples) {
      const [at = ""] = after("at", observation);
      const heard = after("heard", observation);
      const ahead = heard.slice(heard.indexOf(at) + 1);
      expect(ahead.slice(0, after("walk", action).length)).toEqual(after("walk", action));
      expect(after("walk", action).length > 0).toBe(ahead.length > 0);
    }
  });

  it("tell the other a safe continuation, within the words of a message", () => {
    for (const { observation, action } of examples) {
      const [from = ""] = after("from", observation);
      const before = after("said", observation);
      const saying = after("say", action);
      expect(isSafeWay([from, ...before, ...saying], after("thin", observation))).toBe(true);
      expect(saying.length).toBeLessThanOrEqual(3);
      const goal = / to (\S+)/.exec(observation)?.[1];
      expect(saying.length > 0).toBe((before.at(-1) ?? from) !== goal);
    }
  });

  it("are of both seats, and start at the beginning of an episode in the requested share", () => {
    expect(new Set(examples.map(({ seat }) => seat))).toEqual(new Set(["red", "blue"]));
    const starts = drawn({ demonstrations: { begun: 0.5 } }, ["red"], 600).filter(({ observation }) =>
      /said none\n.*\nheard none/.test(observation),
    );
    // Half of them are at the start, and so are the others in which neither path was begun: for paths of 4 to 6 cells
    // 1/5² to 1/7².
    expect(starts.length / 600).toBeGreaterThan(0.47);
    expect(starts.length / 600).toBeLessThan(0.57);
  });
});

describe("demonstrations", () => {
  it("stop early as often as requested", () => {
    expect(said(0).every((length) => length === 3)).toBe(true);
    // One word if the first draw says so.
    expect(said(0.4).filter((length) => length === 1).length / 300).toBeCloseTo(0.4, 1);
    expect(said(1).every((length) => length === 1)).toBe(true);
  });

  it("walk without being told if there are no messages", () => {
    for (const { observation, action } of drawn({ messages: false }, ["blue"], 100)) {
      const [at = ""] = after("at", observation);
      const way = after("walk", action);
      expect(action).toMatch(/^walk( [a-d][1-4])+$/);
      expect(isSafeWay([at, ...way], [])).toBe(true);
      expect(observation.endsWith(`at ${at} to ${way.at(-1)}\ncross`)).toBe(true);
    }
  });

  it.each(["single", "partial"])("of %s move both walkers", (seat) => {
    for (const { observation, action } of drawn({}, [seat], 100)) {
      expect(action).toMatch(/^red( [a-d][1-4])+ blue( [a-d][1-4])+$/);
      expect(observation.match(/thin/g)).toHaveLength(seat === "single" ? 2 : 1);
    }
  });

  it("of several views show the same thin ice first", () => {
    for (const seat of ["red", "single"]) {
      const examples = drawn({ demonstrations: { viewsPerHalf: 6 } }, [seat], 1);
      expect(examples).toHaveLength(6);
      expect(new Set(examples.map(({ observation }) => /thin.*/.exec(observation)?.[0])).size).toBe(1);
      expect(new Set(examples.map(({ observation }) => observation)).size).toBeGreaterThan(4);
    }
  });
});
