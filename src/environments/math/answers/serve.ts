/** The child process's side: answers questions, one at a time. A thread watches what each takes. */
import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Verdict } from "./process.ts";

/**
 * Writes the limit that a question reached to standard output, and ends the process. No question keeps this thread from
 * running. `state` is the number of the question being answered, counted from 1, or 0 between questions. The number is
 * written as well, because the reply may have been sent in the meantime. Resident memory counts, so that V8's own limit,
 * which is higher and at which it gives no notice, is not reached.
 */
const watching = `
const { writeSync } = require("node:fs");
const { state, processorSeconds, megabytes } = require("node:worker_threads").workerData;
const used = () => {
  const { user, system } = process.cpuUsage();
  return { processor: user + system, memory: process.memoryUsage.rss() };
};
for (;;) {
  Atomics.wait(state, 0, 0);
  const question = Atomics.load(state, 0);
  if (question === 0) continue;
  const before = used();
  while (Atomics.wait(state, 0, question, 20) === "timed-out") {
    const now = used();
    const isLong = now.processor - before.processor > processorSeconds * 1e6;
    if (!isLong && now.memory - before.memory < megabytes * 2 ** 20) continue;
    writeSync(1, question + (isLong ? " processor" : " memory"));
    process.kill(process.pid, "SIGKILL");
  }
}
`;

/** The process has one argument, its limits as JSON. */
export function serve(answer: (question: unknown) => Verdict): void {
  const state = new Int32Array(new SharedArrayBuffer(4));
  let asked = 0;
  const set = (to: number): void => {
    Atomics.store(state, 0, to);
    Atomics.notify(state, 0);
  };
  const limits = JSON.parse(process.argv[2] ?? "") as object;
  const options: WorkerOptions = { eval: true, workerData: { state, ...limits } };
  const watcher = new Worker(watching, options);
  watcher.unref();
  process.on("message", (question) => {
    set(++asked);
    const verdict = answer(question);
    set(0);
    process.send?.(verdict);
  });
  // Not before it watches.
  watcher.once("online", () => process.send?.("ready"));
}
