import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { ServiceLog } from "../../../calls/services.ts";
import { ServiceError } from "../../../errors.ts";
import { comparing } from "./answer.ts";
import { startThread, type Thread, type ThreadLimits } from "./thread.ts";

const limits: ThreadLimits = { processorSeconds: 0.3, wallSeconds: 60, megabytes: 64 };

/** A thread that does what it is told. */
const program = new URL(
  `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from "node:worker_threads";
  const reply = (verdict) => {
    const { user, system } = process.threadCpuUsage();
    parentPort.postMessage({ verdict, used: user + system });
  };
  const kept = [];
  let asked = 0;
  const does = {
    spin: () => { for (;;); },
    // A third of the limit, of the processor.
    work: () => {
      const used = () => Object.values(process.threadCpuUsage()).reduce((sum, each) => sum + each);
      for (const before = used(); used() < before + 100_000;);
    },
    // Of the clock only.
    sleep: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500),
    "sleep for ever": () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
    "fill the memory": () => { for (;;) kept.push(new Array(10_000).fill(kept.length)); },
    "fill the memory if used": () => { while (asked > 1) kept.push(new Array(10_000).fill(kept.length)); },
    end: () => process.exit(1),
    };
  parentPort.on("message", ({ one }) => {
    asked++;
    if (does[one]?.() === undefined) reply({ isSame: one.includes("same") });
    else reply({ isSame: true });
  });
  reply(null);
`)}`,
);

function start(given: Partial<ThreadLimits> = {}): Promise<Thread> {
  return startThread({ ...limits, ...given }, program);
}

async function asked(question: string, given: Partial<ThreadLimits> = {}) {
  const thread = await start(given);
  try {
    return await thread.ask({ one: question });
  } finally {
    await thread.end();
  }
}

describe("a thread", () => {
  it("is limited in the processor's time, not the clock's", async () => {
    expect(await asked("spin")).toBe("processor");
    expect(await asked("sleep")).toEqual({ isSame: true });
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
    expect(await asked("fill the memory", { processorSeconds: 60 })).toBe("memory");
  });

  it("that ended between questions fails, and ends no process", async () => {
    const thread = await start();
    expect(await thread.ask({ one: "same" })).toEqual({ isSame: true });
    await thread.end();
    await expect(thread.ask({ one: "same" })).rejects.toThrow(ServiceError);
  });
});

/** Each thread that is started gets what the next one of these gives. */
function failing(times: number) {
  let started = 0;
  const log = new ServiceLog();
  const compare = comparing(async () => {
    const thread = await start({ processorSeconds: 60 });
    return started++ < times ? { ...thread, ask: () => thread.ask({ one: "end" }) } : thread;
  }, 2);
  return { log, compare: (one: string) => compare(one, "x", log), started: () => started };
}

describe("comparing", () => {
  it("repeats a pair whose thread is lost in a new one", async () => {
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

  it("blames a pair for memory only in a new thread", async () => {
    const { compare, started } = failing(0);
    expect(await compare("same")).toEqual({ isSame: true });
    expect(await compare("fill the memory if used")).toEqual({ isSame: false });
    expect(started()).toBe(2);
    const problem = expect.stringContaining("of memory") as string;
    expect(await compare("fill the memory")).toEqual({ isSame: false, problem });
  });

  it("uses several threads at once", async () => {
    const { compare, started } = failing(0);
    const verdicts = await Promise.all(["sleep", "same", "different", "same"].map(compare));
    expect(verdicts.map(({ isSame }) => isSame)).toEqual([true, true, false, true]);
    expect(started()).toBe(2);
  });
});
