import { describe, expect, it } from "vitest";
import type { Datum } from "../../../engines/engine.ts";
import { measureRate, memoryOf, portionOf, tokensIn } from "./calibrate.ts";

const datum = (policy: string, prompt: number, ...actions: number[]): Datum => ({
  policy,
  prompt: new Int32Array(prompt),
  continuations: actions.map((length) => ({ tokens: new Int32Array(length) })),
});
const task = [datum("small", 600, 100, 100), datum("large", 150, 50)];
const sixteen = Array.from({ length: 16 }, () => task);

/** Takes a time for each token, whatever else the machine does. */
function slowly(millisecondsPerToken: number) {
  const portions: number[] = [];
  const work = async (data: readonly Datum[]) => {
    const tokens = tokensIn(data);
    portions.push(tokens);
    const end = performance.now() + tokens * millisecondsPerToken;
    while (performance.now() < end);
    return tokens;
  };
  return { portions, work };
}

describe("a rate", () => {
  it("of a slow model is found from a part of one task, within the time", async () => {
    const { portions, work } = slowly(2);
    const { rate, tokens, whole } = await measureRate(sixteen, work, 0.5);
    expect({ first: portions[0], whole }).toEqual({ first: 32, whole: 16_000 });
    // Half a second is 250 tokens.
    expect(portions.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(252);
    expect(tokens).toBe(portions.at(-1));
    expect(rate).toBeLessThanOrEqual(500);
  });

  it("of a fast model is that of the whole, the second time", async () => {
    const { portions, work } = slowly(0);
    const { tokens, whole } = await measureRate(sixteen, work, 60);
    expect(portions.slice(-2)).toEqual([whole, whole]);
    expect(tokens).toBe(whole);
  });

  it("of one measurement has no spread", async () => {
    expect(await measureRate(sixteen, slowly(1).work, 0.01)).toMatchObject({ tokens: 32, spread: null });
  });
});

it("a portion has every policy and both prompts and actions, in the same shares", () => {
  expect(portionOf(sixteen, 100)).toEqual([datum("small", 60, 10, 10), datum("large", 15, 5)]);
  expect(portionOf(sixteen, 2000)).toEqual([...task, ...task]);
});

it("memory of a GPU is apart from that of the machine, with what auxiliary models need there", () => {
  expect(memoryOf(100, undefined, 5)).toEqual({ memory: 100, deviceMemory: null });
  expect(memoryOf(100, { host: 20 }, 5)).toEqual({ memory: 125, deviceMemory: null });
  expect(memoryOf(100, { host: 20, device: 7 }, 5)).toEqual({ memory: 120, deviceMemory: 12 });
});
