import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ServiceError, TroupeError } from "../errors.ts";
import { VerbOrder } from "./verb-order.ts";

interface Verb {
  readonly changes: boolean;
  readonly policies: readonly string[];
  readonly ticks: number;
  readonly fails: boolean;
}

const verbs: fc.Arbitrary<Verb[]> = fc.array(
  fc.record({
    changes: fc.boolean(),
    policies: fc.subarray(["p", "q", "r"], { minLength: 1 }),
    ticks: fc.nat(3),
    fails: fc.boolean(),
  }),
  { maxLength: 20 },
);

const shares = (one: Verb, other: Verb): boolean =>
  one.policies.some((name) => other.policies.includes(name));

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await delay(0);
}

/** Submits all of it at once and records the order of events. */
async function events(list: readonly Verb[]): Promise<{ readonly what: string; readonly verb: number }[]> {
  const order = new VerbOrder();
  const happened: { what: string; verb: number }[] = [];
  const calls = list.map((each, verb) =>
    order[each.changes ? "change" : "read"](each.policies, async () => {
      happened.push({ what: "start", verb });
      await ticks(each.ticks);
      happened.push({ what: "end", verb });
      if (each.fails) throw new ServiceError(`verb ${verb}`);
    }),
  );
  for (const call of await Promise.allSettled(calls))
    if (call.status === "rejected" && !(call.reason instanceof ServiceError)) throw call.reason;
  return happened;
}

/** Pairs of verbs of one policy that ran out of order. */
function overtakings(list: readonly Verb[], happened: Awaited<ReturnType<typeof events>>): string[] {
  const at = (what: string, verb: number): number =>
    happened.findIndex((event) => event.what === what && event.verb === verb);
  return list.flatMap((later, second) =>
    list.slice(0, second).flatMap((earlier, first) => {
      const bothRan = at("start", first) !== -1 && at("start", second) !== -1;
      const isOrdered = earlier.changes || later.changes;
      const isKept = at("end", first) < at("start", second);
      return bothRan && shares(earlier, later) && isOrdered && !isKept ? [`${second} before ${first}`] : [];
    }),
  );
}

test("a change waits for all before it, and all wait for the changes before them", async () => {
  expect.hasAssertions();
  await fc.assert(
    fc.asyncProperty(verbs, async (list) => {
      expect(overtakings(list, await events(list))).toEqual([]);
    }),
  );
});

test("verbs after a failed change do not start, everything else does", async () => {
  expect.hasAssertions();
  await fc.assert(
    fc.asyncProperty(verbs, async (list) => {
      const happened = await events(list);
      const started = new Set(happened.map(({ verb }) => verb));
      const failed: boolean[] = [];
      list.forEach((verb, index) => {
        const behind = verb.policies.map((name) =>
          list.findLastIndex(
            (other, place) => place < index && other.changes && other.policies.includes(name),
          ),
        );
        const isBehindFailure = behind.some((place) => failed[place] === true);
        failed.push(verb.changes && (verb.fails || isBehindFailure));
        expect({ index, starts: started.has(index) }).toEqual({ index, starts: !isBehindFailure });
      });
    }),
  );
});

test("once a failure is reported, the policy accepts verbs again", async () => {
  const order = new VerbOrder();
  const fail = () => order.change(["p"], () => Promise.reject(new TroupeError("too_long", "too long")));
  const failed = fail();
  const behind = [order.read(["p"], async () => 1), order.change(["p"], async () => 2)];
  await expect(failed).rejects.toThrow("too long");
  const after = [order.read(["p"], async () => 3), order.change(["p"], async () => 4)];
  for (const each of behind)
    await expect(each).rejects.toMatchObject({
      code: "too_long",
      message: expect.stringMatching(/^Not executed/),
    });
  expect(await Promise.all(after)).toEqual([3, 4]);
});

test("a waiting verb is cancelled at once, and later verbs still wait for the ones before it", async () => {
  const order = new VerbOrder();
  const gate = Promise.withResolvers<void>();
  const happened: string[] = [];
  const long = order.change(["p"], async () => {
    await gate.promise;
    happened.push("long");
  });
  const read = order.read(["p"], async () => happened.push("read"));
  const controller = new AbortController();
  const waiting = order.change(["p"], async () => happened.push("never"), controller.signal);
  const behind = order.read(["p"], async () => happened.push("nor this"));
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: "cancelled" });
  await expect(behind).rejects.toMatchObject({ code: "cancelled" });
  const next = order.change(["p"], async () => happened.push("next"));
  await delay(0);
  expect(happened).toEqual([]);
  gate.resolve();
  await Promise.all([long, read, next]);
  expect(happened).toEqual(["long", "read", "next"]);
});

test("what a change lets start before its end reports its result after it", async () => {
  const order = new VerbOrder();
  const gate = Promise.withResolvers<void>();
  const happened: string[] = [];
  const ends = (what: string) => () => happened.push(what);
  const first = order.change(["p"], async ({ letNextStart, isLast }) => {
    await delay(0);
    happened.push(isLast() ? "alone" : "followed");
    letNextStart();
    await gate.promise;
  });
  const second = order.change(["p"], async ({ letNextStart, isLast }) => {
    happened.push(isLast() ? "second is last" : "second is followed");
    letNextStart();
  });
  const sample = order.read(["p"], async () => happened.push("sample starts"));
  const ended = [first.then(ends("first")), second.then(ends("second")), sample.then(ends("sample"))];
  await ticks(3);
  expect(happened).toEqual(["followed", "second is last", "sample starts"]);
  gate.resolve();
  await Promise.all(ended);
  expect(happened.slice(3)).toEqual(["first", "second", "sample"]);
});

test("a change that fails fails what it let start before its end", async () => {
  const order = new VerbOrder();
  const failing = Promise.withResolvers<void>();
  const started: string[] = [];
  const failed = order.change(["p"], async ({ letNextStart }) => {
    letNextStart();
    await failing.promise;
  });
  const behind = [
    order.change(["p"], async ({ letNextStart }) => {
      letNextStart();
      started.push("step");
    }),
    order.read(["p"], async () => started.push("sample")),
  ];
  await ticks(3);
  expect(started).toEqual(["step", "sample"]);
  failing.reject(new ServiceError("gone"));
  await expect(failed).rejects.toThrow("gone");
  for (const each of behind) await expect(each).rejects.toMatchObject({ code: "service" });
  expect(await order.read(["p"], async () => "accepted again")).toBe("accepted again");
});
