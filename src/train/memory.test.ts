import { existsSync } from "node:fs";
import os from "node:os";
import { describe, expect, it, vi } from "vitest";
import type { BatchSize, ProcessMemory } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { TrainEvent } from "./events.ts";
import { memoryOf, memoryShortage } from "./memory.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { trainings } from "./testing/trainings.ts";

const { at, trained } = trainings();

it("memory of a GPU is apart from that of the machine, with what auxiliary models need there", () => {
  expect(memoryOf(100, undefined, 5)).toEqual({ memory: 100, deviceMemory: null });
  expect(memoryOf(100, { host: 20 }, 5)).toEqual({ memory: 125, deviceMemory: null });
  expect(memoryOf(100, { host: 20, device: 7 }, 5)).toEqual({ memory: 120, deviceMemory: 12 });
});

const fits = (memory: number, memoryIsPredicted = true) =>
  memoryShortage({ memory, deviceMemory: null, memoryIsPredicted, heldMemory: 1e9, freeMemory: 3e9 })?.fits;

it("is short above what is held and free, and cannot fit 25 % above that; only a prediction says so", () => {
  expect(fits(4e9)).toBeUndefined();
  expect([fits(4.01e9), fits(4.99e9), fits(5.01e9)]).toEqual([true, true, false]);
  expect(fits(1e12, false)).toBeUndefined();
});

/** An engine in a process of its own, which is predicted to need this share of all memory. */
class PredictingEngine extends HashEngine {
  readonly asked: BatchSize[] = [];
  readonly processMemory: ProcessMemory = { host: 1e9 };
  readonly #share: number;
  constructor(share: number) {
    super({ vocabularySize: wordsOf(tinyRecipe()).length + 6, endToken: 2, isConsistent: true });
    this.#share = share;
  }
  async predictMemory(work: BatchSize): Promise<ProcessMemory> {
    this.asked.push(work);
    const own = process.memoryUsage.rss();
    return { host: this.#share * (own + 1e9 + 3e9) - own };
  }
}

/** Three tasks in groups of three, of one policy with two roles and of the compared team's. */
const recipe = tinyRecipe({ train: { steps: 1, tasksPerStep: 3, learningRate: 0.001 } });

async function trainWith(name: string, share: number, resolved = recipe, stop?: AbortController) {
  vi.spyOn(os, "freemem").mockReturnValue(3e9);
  vi.spyOn(os, "totalmem").mockReturnValue(
    process.platform === "linux" ? 1e12 : process.memoryUsage.rss() + 4e9,
  );
  const engine = new PredictingEngine(share);
  const events: TrainEvent[] = [];
  const onEvent = (event: TrainEvent) => {
    events.push(event);
    if (event.type === "checkpoint") stop?.abort();
  };
  const options = { engine, onEvent, ...(stop === undefined ? {} : { stop: stop.signal }) };
  const outcome = await trained(name, resolved, options).catch((error: unknown) => error as TroupeError);
  const warnings = events.flatMap((event) =>
    event.type === "warning" && event.key === "train.tasksPerStep" ? [`${event.problem}; ${event.fix}`] : [],
  );
  return { outcome, warnings, asked: engine.asked };
}

describe("before its first step a run", () => {
  it("that fits starts without a word", async () => {
    const { outcome, warnings, asked } = await trainWith("fits", 0.95);
    expect(outcome).toMatchObject({ status: "finished" });
    expect(warnings).toEqual([]);
    expect(asked).toMatchObject([{ sequences: expect.any(Number), longest: expect.any(Number) }]);
    expect((asked[0]?.sequences ?? 0) % 9).toBe(0);
  });

  it("that hardly fits is warned, with what is needed, what is free and what to change", async () => {
    const { outcome, warnings } = await trainWith("tight", 1.07);
    expect(outcome).toMatchObject({ status: "finished" });
    expect(warnings).toEqual([
      expect.stringMatching(
        /^the run needs about \d\.\d GB of memory \(weights, .*\); it holds \d\.\d GB already, and 3\.0 GB are free; take a smaller model, fewer tasks/,
      ),
    ]);
  });

  it("that cannot fit is rejected and leaves no folder", async () => {
    const { outcome } = await trainWith("large", 1.4);
    expect(outcome).toBeInstanceOf(TroupeError);
    expect(outcome).toMatchObject({
      code: "no_memory",
      message: expect.stringMatching(/^The run needs about [56]\.\d GB/),
    });
    expect(existsSync(at("large"))).toBe(false);
  });

  it("starts no episode for it, which may open a session elsewhere, or wait", async () => {
    const oracle = { words: wordsOf(recipe) };
    const start = vi.fn<typeof recipe.environment.start>(() => new Promise(() => {}));
    const { outcome, asked } = await trainWith("no episode", 1.4, {
      ...recipe,
      recipe: { ...recipe.recipe, warmStart: undefined },
      environment: { ...recipe.environment, oracle, start },
    });
    expect(outcome).toMatchObject({ code: "no_memory" });
    expect(asked).toMatchObject([{ longest: 2 }]);
    expect(start).not.toHaveBeenCalled();
  });

  it("that has a checkpoint is only warned: it has fitted before", async () => {
    const first = await trainWith("resumed", 0.5, recipe, new AbortController());
    expect(first.outcome).toMatchObject({ status: "interrupted" });
    const { outcome, warnings } = await trainWith("resumed", 1.4);
    expect(outcome).toMatchObject({ status: "finished" });
    expect(warnings).toHaveLength(1);
  });
});
