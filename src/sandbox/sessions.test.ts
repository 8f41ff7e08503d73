import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Sandbox } from "./sandbox.ts";
import { withSessions } from "./sessions.ts";

const withCount = (sessions?: number): Sandbox => ({ backend: "none", sessions }) as Sandbox;

/** The most concurrent works, of ten that take a while. */
async function mostAtOnce(sandbox: Sandbox, needed: number): Promise<number> {
  let [working, most] = [0, 0];
  const work = async (index: number): Promise<number> => {
    most = Math.max(most, ++working);
    await turn();
    await turn();
    working--;
    if (index === 3) throw new Error("one fails");
    return index;
  };
  const works = Array.from({ length: 10 }, (_, index) => withSessions(sandbox, needed, () => work(index)));
  const results = await Promise.allSettled(works);
  expect(results.map((one) => (one.status === "fulfilled" ? one.value : -1))).toEqual([
    0, 1, 2, -1, 4, 5, 6, 7, 8, 9,
  ]);
  return most;
}

it("as many works at once as have all of their sessions", async () => {
  expect(await mostAtOnce(withCount(8), 2)).toBe(4);
  expect(await mostAtOnce(withCount(3), 2)).toBe(1);
  expect(await mostAtOnce(withCount(1), 2)).toBe(1);
  expect(await mostAtOnce(withCount(), 2)).toBe(2);
});

it("pieces of work that need different numbers of sessions share all of them, and never more", async () => {
  const sandbox = withCount(4);
  let [open, most] = [0, 0];
  const work = (needed: number) => async () => {
    most = Math.max(most, (open += needed));
    await turn();
    open -= needed;
  };
  await Promise.all([3, 1, 2, 3, 1, 1, 4, 2].map((needed) => withSessions(sandbox, needed, work(needed))));
  expect(most).toBe(4);
});
