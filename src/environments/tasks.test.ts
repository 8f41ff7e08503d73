import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import { drawInt, generatorOf, keyAt, rootKey } from "../random.ts";
import { createEnvironment } from "./registry.ts";
import { evaluationTasks, sourceOf, taskList, trainingTasks } from "./tasks.ts";

const letters = {
  name: "letters",
  tasks: { train: taskList(["a", "b", "c", "d", "e"]), heldOut: taskList(["v", "w", "x", "y", "z"]) },
};
/** Draws one of `size` numbers. */
const dice = (size: number) => ({
  name: "dice",
  tasks: {
    heldOut: { size: null, draw: (key: ReturnType<typeof rootKey>) => drawInt(generatorOf(key), size) },
  },
});

describe("tasks of training", () => {
  it("visit a finite source once per epoch, each epoch in its own order", async () => {
    const taskOf = trainingTasks(letters.tasks.train, rootKey(3));
    const drawn: string[] = [];
    for (let index = 0; index < 20; index++) drawn.push(await taskOf(index, rootKey(9)));
    const epochs = [0, 5, 10, 15].map((start) => drawn.slice(start, start + 5).join(""));
    for (const epoch of epochs) expect(epoch.split("").toSorted().join("")).toBe("abcde");
    expect(new Set(epochs).size).toBeGreaterThan(1);
  });

  it("are the same wherever a run starts drawing", async () => {
    const index = 13;
    const [whole, resumed] = [3, 3].map((seed) => trainingTasks(letters.tasks.train, rootKey(seed)));
    for (let before = 0; before < index; before++) await whole?.(before, rootKey(0));
    expect(await resumed?.(index, rootKey(0))).toBe(await whole?.(index, rootKey(0)));
  });
});

describe("tasks of evaluations", () => {
  it("are distinct, and as many as requested if there are enough", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 80 }),
        async (size, count) => {
          const found = await evaluationTasks(dice(size), "heldOut", count);
          expect(new Set(found.map(({ task }) => task)).size).toBe(found.length);
          expect(found).toHaveLength(Math.min(size, count));
        },
      ),
      { numRuns: 60 },
    );
  });

  it("are one for each identity", async () => {
    const source = { ...dice(60).tasks.heldOut, identity: (task: number) => String(task % 7) };
    const found = await evaluationTasks({ name: "dice", tasks: { heldOut: source } }, "heldOut", 60);
    expect(found.map(({ task }) => task % 7).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it("are the first of a finite source", async () => {
    const found = await evaluationTasks(letters, "heldOut", 3);
    expect(found).toEqual([
      { index: 0, task: "v" },
      { index: 1, task: "w" },
      { index: 2, task: "x" },
    ]);
    expect(await evaluationTasks(letters, "heldOut", 99)).toHaveLength(5);
  });

  it("begin with the same tasks whatever their number", async () => {
    const [few, many] = [
      await evaluationTasks(dice(500), "heldOut", 40),
      await evaluationTasks(dice(500), "heldOut", 90),
    ];
    expect(many.slice(0, 40)).toEqual(few);
  });

  it("have numbers by which they can be drawn again", async () => {
    const environment = await createEnvironment("eight-queens", {});
    const found = await evaluationTasks(environment, "validation", 20);
    const source = sourceOf(environment, "validation");
    if (source.size !== null) throw new Error("boards are endless");
    for (const { index, task } of found)
      expect(await source.draw(keyAt(rootKey(0), "validation", index, "task"))).toEqual(task);
  });

  it("are read again after a service failure", async () => {
    const asked: number[] = [];
    const at = (index: number): number => {
      asked.push(index);
      if (asked.filter((each) => each === index).length === 1)
        throw new ServiceError("the hub did not answer");
      return index;
    };
    const flaky = { name: "flaky", tasks: { heldOut: { size: 3, at } } };
    const found = await evaluationTasks(flaky, "heldOut", 9, { retries: 1, firstDelay: 0, longestDelay: 0 });
    expect(found.map(({ task }) => task)).toEqual([0, 1, 2]);
    expect(asked).toEqual([0, 0, 1, 1, 2, 2]);
    asked.length = 0;
    await expect(
      evaluationTasks(flaky, "heldOut", 9, { retries: 0, firstDelay: 0, longestDelay: 0 }),
    ).rejects.toMatchObject({ code: "service" });
  });

  it("of an unknown split are rejected by name", async () => {
    await expect(evaluationTasks(letters, "test", 1)).rejects.toThrow(
      "letters has no split test; its splits are train, heldOut",
    );
  });
});
