import { describe, expect, it } from "vitest";
import { ServiceError, TroupeError } from "../errors.ts";
import { retrying } from "./retry.ts";

const options = { retries: 3, firstDelay: 0, longestDelay: 0 };

function failing(times: number, error: Error): { calls: number[]; work: (attempt: number) => string } {
  const calls: number[] = [];
  const work = (attempt: number): string => {
    calls.push(attempt);
    if (calls.length <= times) throw error;
    return "done";
  };
  return { calls, work };
}

describe("retrying", () => {
  it("retries while a service fails, up to the limit", async () => {
    const { calls, work } = failing(3, new ServiceError("no answer"));
    await expect(retrying(work, options)).resolves.toBe("done");
    expect(calls).toEqual([0, 1, 2, 3]);
  });

  it("then throws the last failure", async () => {
    const { calls, work } = failing(4, new ServiceError("no answer"));
    await expect(retrying(work, options)).rejects.toMatchObject({ code: "service", message: "no answer" });
    expect(calls).toHaveLength(4);
  });

  it("does not retry other failures", async () => {
    const { calls, work } = failing(1, new TroupeError("internal", "a bug"));
    await expect(retrying(work, options)).rejects.toMatchObject({ code: "internal" });
    expect(calls).toEqual([0]);
  });

  it.each([
    ["what it waited for", new DOMException("This operation was aborted", "AbortError")],
    ["a service", new ServiceError("no answer")],
  ])("is cancelled if %s fails after the signal is aborted", async (_, error) => {
    const stop = new AbortController();
    const work = (): never => {
      stop.abort();
      throw error;
    };
    const running = retrying(work, { ...options, retries: 0 }, stop.signal);
    await expect(running).rejects.toMatchObject({ code: "cancelled", cause: error });
  });

  it("rethrows a bug, cancelled or not", async () => {
    const { work } = failing(1, new TroupeError("internal", "a bug"));
    await expect(retrying(work, options, AbortSignal.abort())).rejects.toMatchObject({ code: "internal" });
  });

  it("waits no longer than timers can", async () => {
    const waited: number[] = [];
    const sleep = async (milliseconds: number): Promise<void> => void waited.push(milliseconds);
    const { work } = failing(2, new ServiceError("no answer"));
    await retrying(work, { retries: 2, firstDelay: 2 ** 30, longestDelay: 1e12, sleep });
    expect(waited).toEqual([2 ** 30, 2 ** 31 - 1]);
  });

  it("waits as long as the service asks for, if that is longer", async () => {
    const waited: number[] = [];
    const sleep = async (milliseconds: number): Promise<void> => void waited.push(milliseconds);
    for (const retryAfter of [5000, 3]) {
      const { work } = failing(1, new ServiceError("busy", { retryAfter }));
      await retrying(work, { retries: 1, firstDelay: 10, longestDelay: 20, sleep });
    }
    expect(waited).toEqual([5000, 10]);
  });

  it("stops waiting when it is cancelled", async () => {
    const { calls, work } = failing(9, new ServiceError("no answer"));
    const stop = new AbortController();
    const running = retrying(work, { retries: 3, firstDelay: 1e9, longestDelay: 1e9 }, stop.signal);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "cancelled" });
    expect(calls.length).toBeLessThanOrEqual(2);
  });
});
