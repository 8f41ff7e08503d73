/** The child process's side: answers questions, one at a time. A thread watches the processor time that each takes. */
import { Worker } from "node:worker_threads";
import type { Verdict } from "./process.ts";

/** Between questions `begun` is negative. No question keeps this thread from running. */
const watching = `
const { begun, microseconds } = require("node:worker_threads").workerData;
setInterval(() => {
  const since = Number(Atomics.load(begun, 0));
  const { user, system } = process.cpuUsage();
  if (since >= 0 && user + system - since > microseconds) process.kill(process.pid, "SIGXCPU");
}, 100);
`;

/** The process has one argument, the seconds of processor time for one question. SIGXCPU ends it if one takes more. */
export function serve(answer: (question: unknown) => Verdict): void {
  const microseconds = 1e6 * Number(process.argv[2]);
  const begun = new BigInt64Array(new SharedArrayBuffer(8)).fill(-1n);
  new Worker(watching, { eval: true, workerData: { begun, microseconds } }).unref();
  process.on("message", (question) => {
    const { user, system } = process.cpuUsage();
    Atomics.store(begun, 0, BigInt(user + system));
    const verdict = answer(question);
    Atomics.store(begun, 0, -1n);
    process.send?.(verdict);
  });
  process.send?.("ready");
}
