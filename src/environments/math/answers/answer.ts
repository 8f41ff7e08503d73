/** Verifies the final answer of a text against the accepted ones. */
import type { ServiceLog } from "../../../calls/services.ts";
import { sameFinalAnswer, type Verdict } from "./comparing.ts";
import { extractAnswer, type AnswerSource } from "./extract.ts";

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
