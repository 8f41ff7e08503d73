/** Verifies the final answer of a text against the accepted ones. */
import { availableParallelism } from "node:os";
import { answerOf, call } from "../../../calls/call.ts";
import { Service, type ServiceLog } from "../../../calls/services.ts";
import { extractAnswer, longestAnswer, type AnswerSource } from "./extract.ts";
import { readRational, sameRational } from "./rational.ts";
import {
  ProcessPool,
  startProcess,
  type Limits,
  type Process,
  type Reached,
  type Verdict,
} from "./process.ts";

export interface Verified {
  readonly isCorrect: boolean;
  /** Null: the text has no answer. */
  readonly answer: string | null;
  readonly source: AnswerSource | null;
  /** Why it could not be compared. */
  readonly problem?: string | undefined;
}

/** @param accepted the correct answers, any of which counts */
export async function verifyAnswer(
  text: string,
  accepted: readonly string[],
  log?: ServiceLog,
): Promise<Verified> {
  const found = extractAnswer(text);
  if (found === null) return { isCorrect: false, answer: null, source: null };
  const { isSame, ...rest } = await isAnyOf(found.text, accepted, log);
  return { isCorrect: isSame, answer: found.text, source: found.source, ...rest };
}

/** Whether an answer equals one of the others; if not, the first problem in comparing them. */
export async function isAnyOf(answer: string, others: readonly string[], log?: ServiceLog): Promise<Verdict> {
  let verdict: Verdict = { isSame: false };
  for (const other of others) {
    const found = await sameFinalAnswer(answer, other, log);
    if (found.isSame) return found;
    if (verdict.problem === undefined) verdict = found;
  }
  return verdict;
}

export type { Verdict } from "./process.ts";

/** Ordinary pairs take milliseconds; a busy machine may be thirty times slower. */
const limits: Limits = { processorSeconds: 2, wallSeconds: 60, megabytes: 512 };
const mostProcesses = Math.min(4, Math.max(2, availableParallelism()));

const onceAgain = { retries: 1, firstDelay: 0, longestDelay: 0 };

export type Compare = (one: string, other: string, log?: ServiceLog) => Promise<Verdict>;

/**
 * Whether two final answers are equal (docs/math.md), and if they cannot be compared, why. Plain numbers are compared at
 * once; for everything else processes are started, which do not keep this one alive.
 * @throws ServiceError if a process fails, or gets too little of the processor, twice: that says nothing about the answers
 */
export const sameFinalAnswer: Compare = comparing(() => startProcess(limits), mostProcesses);

export function comparing(start: () => Promise<Process>, processes: number): Compare {
  const pool = new ProcessPool(start, processes);
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

/** Short and without commands, so that it is read as in the process. */
function plainNumber(text: string) {
  const bare = text.trim();
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(bare) ? readRational(bare) : null;
}

const problems: Readonly<Record<Reached, string>> = {
  processor: `comparing it takes more than ${limits.processorSeconds} s of processor time`,
  memory: `comparing it takes more than ${limits.megabytes} MB of memory`,
};
