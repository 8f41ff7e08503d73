import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { ServiceLog } from "../../../calls/services.ts";
import { ServiceError } from "../../../errors.ts";
import { comparing } from "./answer.ts";
import { startProcess, type Limits, type Process } from "./process.ts";

const limits: Limits = { processorSeconds: 0.3, wallSeconds: 60, megabytes: 64 };

const program = fileURLToPath(new URL("testing/told.ts", import.meta.url));

function start(given: Partial<Limits> = {}): Promise<Process> {
  return startProcess({ ...limits, ...given }, program);
}

async function asked(question: string, given: Partial<Limits> = {}) {
  const one = await start(given);
  try {
    return await one.ask({ one: question });
  } finally {
    await one.end();
  }
}

describe("a process", () => {
  it("is limited in the processor's time, not the clock's", async () => {
    expect(await asked("spin")).toBe("processor");
    expect(await asked("sleep")).toEqual({ isSame: false });
  });

  it("is not stopped earlier while others keep every processor busy", async () => {
    const others = Array.from(
      { length: 8 * availableParallelism() },
      () => new Worker("for (;;);", { eval: true }),
    );
    expect(await asked("work")).toEqual({ isSame: false });
    await Promise.all(others.map((other) => other.terminate()));
  });

  it("that gets too little of the processor fails", async () => {
    await expect(asked("sleep for ever", { wallSeconds: 0.5 })).rejects.toThrow(ServiceError);
  });

  it("that ends or fails gives no verdict; one that needs too much memory says so", async () => {
    await expect(asked("end")).rejects.toThrow(ServiceError);
    await expect(asked("abort")).rejects.toThrow(ServiceError);
    expect(await asked("fill the memory", { processorSeconds: 60 })).toBe("memory");
  });

  it("has no environment variables, and so no secrets", async () => {
    expect(await asked("has no environment")).toEqual({ isSame: true });
  });

  it("that ended between questions fails, and its parent does not", async () => {
    const one = await start();
    expect(await one.ask({ one: "same" })).toEqual({ isSame: true });
    await one.end();
    await expect(one.ask({ one: "same" })).rejects.toThrow(ServiceError);
  });
});

/** Each process that is started gets what the next one of these gives. */
function failing(times: number) {
  let started = 0;
  const log = new ServiceLog();
  const compare = comparing(async () => {
    const one = await start({ processorSeconds: 60 });
    return started++ < times ? { ...one, ask: () => one.ask({ one: "end" }) } : one;
  }, 2);
  return { log, compare: (one: string) => compare(one, "x", log), started: () => started };
}

describe("comparing", () => {
  it("repeats a pair whose process is lost in a new one", async () => {
    const { log, compare, started } = failing(1);
    expect(await compare("same")).toEqual({ isSame: true });
    expect(started()).toBe(2);
    expect(log.named("comparison").use).toMatchObject({ calls: 1, retries: 1, failures: 0 });
  });

  it("gives no verdict if it is lost twice", async () => {
    const { log, compare } = failing(2);
    await expect(compare("same")).rejects.toThrow(ServiceError);
    expect(log.named("comparison").use).toMatchObject({ calls: 1, retries: 1, failures: 1 });
    expect(await compare("same")).toEqual({ isSame: true });
  });

  it("blames a pair for memory only in a new process", async () => {
    const { compare, started } = failing(0);
    expect(await compare("same")).toEqual({ isSame: true });
    expect(await compare("fill the memory if used")).toEqual({ isSame: false });
    expect(started()).toBe(2);
    const problem = expect.stringContaining("of memory") as string;
    expect(await compare("fill the memory")).toEqual({ isSame: false, problem });
  });

  it("uses several processes at once", async () => {
    const { compare, started } = failing(0);
    const verdicts = await Promise.all(["sleep", "same", "different", "same"].map(compare));
    expect(verdicts.map(({ isSame }) => isSame)).toEqual([false, true, false, true]);
    expect(started()).toBe(2);
  });
});
