/**
 * Compares answers once: a comparison that ran out of time once might not the next time, after a resume. Comparisons are
 * recorded with the run.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { recordedCall } from "../../calls/recorded.ts";
import type { Context } from "../environment.ts";
import { verifyAnswer, type Verified } from "./answers/answer.ts";
import { sameFinalAnswer } from "./answers/comparing.ts";

const verifiedSchema = z.strictObject({
  isCorrect: z.boolean(),
  answer: z.string().nullable(),
  source: z.enum(["boxed", "phrase", "number"]).nullable(),
});

/** Increase it whenever other answers become equal or different. */
const version = 2;

type Recording = Pick<Context, "services">;

/** The final answer in a text, and whether it is one of the accepted ones. */
export function verified(text: string, accepted: readonly string[], context: Recording): Promise<Verified> {
  const question = ["math answer", version, text, accepted];
  return once(question, verifiedSchema, context, () => verifyAnswer(text.toWellFormed(), accepted));
}

/** Whether an answer that is already extracted equals one of the others. */
export function isAmong(answer: string, others: readonly string[], context: Recording): Promise<boolean> {
  return once(["math answers", version, answer, others], amongSchema, context, async () => {
    for (const other of others) if (await sameFinalAnswer(answer, other)) return { isAmong: true };
    return { isAmong: false };
  }).then((found) => found.isAmong);
}

const amongSchema = z.strictObject({ isAmong: z.boolean() });

function once<T extends object>(
  question: readonly unknown[],
  schema: z.ZodType<T>,
  { services: { recorded } }: Recording,
  find: () => Promise<T>,
): Promise<T> {
  return recordedCall(recorded, {
    key: createHash("sha256").update(JSON.stringify(question)).digest("hex"),
    read: (known) => schema.safeParse(known).data ?? null,
    ask: find,
  });
}
