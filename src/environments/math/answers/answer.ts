/** Verifies the final answer of a text against the accepted ones. */
import { sameFinalAnswer } from "./comparing.ts";
import { extractAnswer, type AnswerSource } from "./extract.ts";

export interface Verified {
  readonly isCorrect: boolean;
  /** Null: the text has no answer. */
  readonly answer: string | null;
  readonly source: AnswerSource | null;
}

/** @param accepted the correct answers, any of which counts */
export async function verifyAnswer(text: string, accepted: readonly string[]): Promise<Verified> {
  const found = extractAnswer(text);
  if (found === null) return { isCorrect: false, answer: null, source: null };
  for (const answer of accepted)
    if (await sameFinalAnswer(found.text, answer))
      return { isCorrect: true, answer: found.text, source: found.source };
  return { isCorrect: false, answer: found.text, source: found.source };
}
