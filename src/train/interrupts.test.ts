/** A run that is stopped in the middle of a step. */
import { describe, expect, it, test } from "vitest";
import type { RecipeInput } from "../recipes/schema.ts";
import { settledWithin } from "../calls/deadline.ts";
import { Interrupts, attendServers, silenceOf, watcher } from "./interrupts.ts";
import { tinyRecipe } from "./testing/tiny-recipe.ts";
import { hashEngineFor, trainings } from "./testing/trainings.ts";
import type { TrainOutcome } from "./run.ts";
import type { ServerLoad } from "../engines/engine.ts";
import type { TrainEvent } from "./events.ts";

const { trained, recordsOf } = trainings();

const small: Partial<RecipeInput> = {
  warmStart: { steps: 2, demonstrationsPerStep: 2, learningRate: 0.003 },
  evaluation: { tasks: 1, every: 2 },
};

const recipes = {
  "in turn": tinyRecipe({
    ...small,
    algorithm: { name: "ppo", samples: 2 },
    train: { steps: 3, tasksPerStep: 1, learningRate: 0.001, minibatches: 2 },
    checkpoint: { every: 2, keep: 2 },
  }),
  "one step ahead": tinyRecipe({
    ...small,
    train: { steps: 3, tasksPerStep: 1, learningRate: 0.001, minibatches: 2, maxLag: 1 },
    checkpoint: { every: 2, keep: 1 },
  }),
};

/** Stops during every call take minutes. */
const stride = 13;

/** @param last stopped as the engine is called for the last time; absent: never */
async function trainUntil(kind: keyof typeof recipes, name: string, last?: number) {
  const stop = new AbortController();
  let calls = 0;
  const onCall = (): void => {
    calls += 1;
    if (calls === last) stop.abort();
  };
  const engine = hashEngineFor(recipes[kind], { onCall });
  const { outcome, weights } = await trained(name, recipes[kind], { engine, stop: stop.signal });
  return { outcome, calls, weights: weights["shared"] };
}

describe.each(["in turn", "one step ahead"] as const)("a run that samples %s", (kind) => {
  it("ends the same, without a step done in vain, if it is stopped during a call of its engine", async () => {
    const whole = await trainUntil(kind, kind);
    const records = await recordsOf(kind);
    expect(whole.outcome.status).toBe("finished");
    for (let last = 1; last < whole.calls; last += stride) {
      const name = `${kind}, stopped at ${last}`;
      const { outcome } = await trainUntil(kind, name, last);
      // Stopped in the last evaluation's calls, or before.
      expect(outcome).toMatchObject({ status: "interrupted" });
      const { step, checkpoint } = outcome as Extract<TrainOutcome, { status: "interrupted" }>;
      // What is sampled ahead may be cancelled while the last updates of a step come through.
      const lost = kind === "in turn" ? [0] : [0, 1];
      expect({ last, lost }).toEqual({ last, lost: expect.arrayContaining([step - (checkpoint ?? 0)]) });
      const { weights } = await trainUntil(kind, name);
      expect({ last, weights }).toEqual({ last, weights: whole.weights });
      expect(await recordsOf(name)).toEqual(records);
    }
  });
});

function stopped(isSaved: boolean): Interrupts {
  const stop = new AbortController();
  const interrupts = new Interrupts({ stop: stop.signal });
  interrupts.stepDone();
  if (isSaved) interrupts.saved();
  stop.abort();
  return interrupts;
}

test("an update is cancelled if all steps before it are saved, and otherwise finished", () => {
  for (const isSaved of [false, true]) {
    const { reading, changing } = stopped(isSaved);
    expect([reading.aborted, changing.aborted]).toEqual([true, isSaved]);
  }
  expect(new Interrupts({ stop: AbortSignal.abort() }).changing.aborted).toBe(true);
  const both = new Interrupts({ cancel: AbortSignal.abort() });
  expect([both.reading.aborted, both.changing.aborted, both.isStopped]).toEqual([true, true, false]);
});

test("work that does not notice the signal is left to itself", async () => {
  const controller = new AbortController();
  const never = settledWithin(new Promise(() => {}), controller.signal);
  const soon = settledWithin(
    new Promise((resolve) => {
      controller.signal.addEventListener("abort", () => setImmediate(resolve, "done"));
    }),
    controller.signal,
  );
  controller.abort();
  await expect(never).rejects.toMatchObject({ code: "cancelled" });
  expect(await soon).toBe("done");
});

const load = (server: string, seconds: number | null): ServerLoad => ({
  server,
  waiting: 1,
  queue: null,
  capacity: null,
  silence: seconds === null ? null : { seconds, why: "refused" },
});

it("a long silence of each server is said once, and its end", () => {
  const events: TrainEvent[] = [];
  const look = watcher((event) => events.push(event));
  look([load("one", null), load("two", 2)]);
  look([load("one", 1), load("two", 6)]);
  look([load("one", null), load("two", 7)]);
  for (let time = 0; time < 2; time++) look([load("one", null), load("two", null)]);
  look([load("one", 5), load("two", 1)]);
  expect(events).toEqual([
    { type: "server-silent", server: "two", seconds: 6, why: "refused" },
    { type: "server-answers", server: "two", seconds: 7 },
    { type: "server-silent", server: "one", seconds: 5, why: "refused" },
  ]);
});

it("the reason of a stop is the first silence", () => {
  expect(silenceOf({ load: [load("one", null), load("two", 6)] })).toBe(
    "two has not answered for 6.0 s (refused)",
  );
  expect([silenceOf({ load: [load("one", null)] }), silenceOf({})]).toEqual([undefined, undefined]);
});

it.each(["stop", "cancel"] as const)("from %s to the end of the run, the engine fails fast", (name) => {
  let failing = 0;
  const failFast = (): Disposable => {
    failing += 1;
    return { [Symbol.dispose]: () => (failing -= 1) };
  };
  const engine = { failFast } as unknown as Parameters<typeof attendServers>[0]["engine"];
  const controller = new AbortController();
  const attending = attendServers({ engine, [name]: controller.signal });
  expect(failing).toBe(0);
  controller.abort();
  expect(failing).toBe(1);
  attending[Symbol.dispose]();
  expect(failing).toBe(0);
  const late = attendServers({ engine, [name]: controller.signal });
  expect(failing).toBe(1);
  late[Symbol.dispose]();
});
