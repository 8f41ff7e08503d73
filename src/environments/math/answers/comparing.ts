/** Compares answers in a worker thread, each pair for a limited time. */
import { longestAnswer } from "./extract.ts";
import { readRational, sameRational } from "./rational.ts";
import { startThread, type Thread } from "./thread.ts";

/** For a pair, once it is being compared. */
const pairMilliseconds = 1000;

let thread: Promise<Thread> | null = null;
/** Pairs are compared one at a time. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Whether two final answers are equal (docs/math.md). Pairs that take longer than a second count as different. Plain numbers are
 * compared at once; for everything else a thread is started, which does not keep the process alive.
 */
export async function sameFinalAnswer(one: string, other: string): Promise<boolean> {
  if (one.length > longestAnswer || other.length > longestAnswer) return false;
  const [left, right] = [plainNumber(one), plainNumber(other)];
  if (left !== null && right !== null) return sameRational(left, right);
  const result = last.then(() => compareInThread(one, other));
  last = result.catch(() => {});
  return result;
}

/** Short and without commands, so that it is read as in the thread. */
function plainNumber(text: string) {
  const bare = text.trim();
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(bare) ? readRational(bare) : null;
}

/** A thread that took too long, or died of a pair, is replaced. */
async function compareInThread(one: string, other: string): Promise<boolean> {
  const current = await currentThread();
  const answer = await current.ask({ one, other }, pairMilliseconds);
  if (answer !== null) return answer;
  thread = null;
  await current.end();
  return false;
}

async function currentThread(): Promise<Thread> {
  const current = thread ?? startThread();
  thread = current;
  try {
    return await current;
  } catch (error) {
    thread = null;
    throw error;
  }
}
