import { describe, expect, it } from "vitest";
import type { Datum } from "../../../engines/engine.ts";
import { sum } from "../../../statistics.ts";
import { tokensIn } from "../../../train/memory.ts";
import { measureDecoding, measureRate, portionOf } from "./calibrate.ts";
import { busyLines } from "./dry-run.ts";

const datum = (policy: string, prompt: number, ...actions: number[]): Datum => ({
  policy,
  prompt: new Int32Array(prompt),
  continuations: actions.map((length) => ({ tokens: new Int32Array(length) })),
});
const task = [datum("small", 600, 100, 100), datum("large", 150, 50)];
const sixteen = Array.from({ length: 16 }, () => task);

function busy(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

/** Takes a time for each token, whatever else the machine does. */
function slowly(millisecondsPerToken: number) {
  const portions: number[] = [];
  const work = async (data: readonly Datum[]) => {
    const tokens = tokensIn(data);
    portions.push(tokens);
    busy(tokens * millisecondsPerToken);
    return tokens;
  };
  return { portions, work };
}

describe("a rate", () => {
  it("of a slow model is found from a part of one task, within the time", async () => {
    const { portions, work } = slowly(2);
    const { rate, tokens, whole } = await measureRate(sixteen, work, { seconds: 0.5, fewest: 32 });
    expect({ first: portions[0], whole }).toEqual({ first: 32, whole: 16_000 });
    // Half a second is 250 tokens; the first measurement is repeated.
    expect(portions[1]).toBe(32);
    expect(sum(portions)).toBeLessThanOrEqual(32 + 252);
    expect(tokens).toBe(portions.at(-1));
    expect(rate).toBeLessThanOrEqual(500);
  });

  it("of a fast model is that of the whole, the second time", async () => {
    const { portions, work } = slowly(0);
    const { tokens, whole } = await measureRate(sixteen, work, { seconds: 60, fewest: 32 });
    expect(portions.slice(-2)).toEqual([whole, whole]);
    expect(tokens).toBe(whole);
  });

  it("of one measurement has no spread", async () => {
    expect(await measureRate(sixteen, slowly(1).work, { seconds: 0.01, fewest: 32 })).toMatchObject({
      tokens: 32,
      spread: null,
    });
  });
});

describe("the rate of decoding", () => {
  it("is that of all sequences of a step together, without their prompts", async () => {
    const asked: Datum[][] = [];
    // A prompt token takes a millisecond and a step of decoding five, however many sequences take part.
    const work = async (data: readonly Datum[]) => {
      asked.push([...data]);
      busy(sum(data.map(({ prompt }) => prompt.length)));
      busy(5 * ((data[0]?.continuations[0]?.tokens.length ?? 1) - 1));
      return 0;
    };
    const data = [datum("a", 400, 90, 90), datum("a", 400, 90, 90)];
    const { tokens, whole } = await measureDecoding(data, 1000, work, { seconds: 0.4, shortest: 3 });
    expect(asked.every((all) => all.length === 2 && all.every(({ prompt }) => prompt.length === 50))).toBe(
      true,
    );
    expect(tokens).toBeLessThan(whole);
  });

  it("takes roles one after the other", async () => {
    const asked: string[] = [];
    const work = async (data: readonly Datum[]) => {
      asked.push(data.map(({ policy }) => policy).join(" "));
      return 0;
    };
    await measureDecoding([datum("a", 4, 2), datum("b", 4, 2), datum("a", 4, 2)], 1000, work, {
      seconds: 0.01,
      shortest: 3,
    });
    expect(asked.slice(0, 2)).toEqual(["a a", "b"]);
  });
});

it("a busy machine is named, a quiet one and another process are not", () => {
  expect(busyLines({ processorShare: 0.06 })).toEqual([
    "The machine was busy: Troupe got 6.0 % of its processors while it measured, so these times are too long.",
  ]);
  for (const processorShare of [0.87, null]) expect(busyLines({ processorShare })).toEqual([]);
});

it("a portion has every policy and both prompts and actions, in the same shares", () => {
  expect(portionOf(sixteen, 100)).toEqual([datum("small", 60, 10, 10), datum("large", 15, 5)]);
  expect(portionOf(sixteen, 2000)).toEqual([...task, ...task]);
});
