import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { ServiceError } from "../errors.ts";
import { withinTime } from "./deadline.ts";

function sleep(signal: AbortSignal): Promise<unknown> {
  return delay(60_000, undefined, { signal });
}

it("gives the result, or the error, of work that is in time", async () => {
  expect(await withinTime(async () => 3, 60_000, "it")).toBe(3);
  await expect(withinTime(() => Promise.reject(new TypeError("no")), 60_000, "it")).rejects.toThrow(
    TypeError,
  );
});

it("ends work that never does as a failing service, and aborts its signal", async () => {
  const signals: AbortSignal[] = [];
  const endless = (signal: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  };
  const over = withinTime(endless, 5, "`step` of coins");
  await expect(over).rejects.toThrow(new ServiceError("`step` of coins took longer than 0.005 seconds"));
  expect(signals[0]?.aborted).toBe(true);
});

it("is a failing service also if the work fails because of the signal", async () => {
  await expect(withinTime(sleep, 5, "it")).rejects.toThrow(ServiceError);
});

it("passes the caller's abort on, with and without a bound", async () => {
  const reason = new Error("enough");
  for (const milliseconds of [null, 60_000]) {
    const controller = new AbortController();
    const sleeping = withinTime(sleep, milliseconds, "it", controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toMatchObject({ name: "AbortError", cause: reason });
  }
});
