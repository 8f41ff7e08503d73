/** Compares answers in worker threads, each pair within a processor time. */
import { availableParallelism } from "node:os";
import { answerOf, call } from "../../../calls/call.ts";
import { Service, type ServiceLog } from "../../../calls/services.ts";
import { longestAnswer } from "./extract.ts";
import { readRational, sameRational } from "./rational.ts";
import { startThread, type Reached, type Thread, type ThreadLimits, type Verdict } from "./thread.ts";
import { ThreadPool } from "./threads.ts";

export type { Verdict } from "./thread.ts";

/** Ordinary pairs take milliseconds; a busy machine may be thirty times slower. */
const limits: ThreadLimits = { processorSeconds: 2, wallSeconds: 60, megabytes: 512 };
const mostThreads = Math.min(4, Math.max(2, availableParallelism()));

const onceAgain = { retries: 1, firstDelay: 0, longestDelay: 0 };

export type Compare = (one: string, other: string, log?: ServiceLog) => Promise<Verdict>;

/**
 * Whether two final answers are equal (docs/math.md), and if they cannot be compared, why. Plain numbers are compared at
 * once; for everything else threads are started, which do not keep the process alive.
 * @throws ServiceError if a thread fails, or gets too little of the processor, twice: that says nothing about the answers
 */
export const sameFinalAnswer: Compare = comparing(() => startThread(limits), mostThreads);

export function comparing(start: () => Promise<Thread>, threads: number): Compare {
  const pool = new ThreadPool(start, threads);
  return async (one, other, log) => {
    if (one.length > longestAnswer || other.length > longestAnswer)
      return { isSame: false, problem: `an answer is longer than ${longestAnswer} characters` };
    const [left, right] = [plainNumber(one), plainNumber(other)];
    if (left !== null && right !== null) return { isSame: sameRational(left, right) };
    const service = log?.named("comparison") ?? new Service("comparison");
    const found = answerOf(await call(service, () => pool.ask({ one, other }), { retries: onceAgain }));
    return typeof found === "string" ? { isSame: false, problem: problems[found] } : found;
  };
}

/** Short and without commands, so that it is read as in the thread. */
function plainNumber(text: string) {
  const bare = text.trim();
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(bare) ? readRational(bare) : null;
}

const problems: Readonly<Record<Reached, string>> = {
  processor: `comparing it takes more than ${limits.processorSeconds} s of processor time`,
  memory: `comparing it takes more than ${limits.megabytes} MB of memory`,
};
