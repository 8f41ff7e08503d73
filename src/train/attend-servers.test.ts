import { expect, it } from "vitest";
import type { ServerLoad } from "../engines/engine.ts";
import { attendServers, silenceOf, watcher } from "./interrupts.ts";
import type { TrainEvent } from "./events.ts";

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
