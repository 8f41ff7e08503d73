/** Compares answers once: verdicts, also on pairs that reach a limit, are recorded with the run. Failures are not. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { recordedCall, type Sound } from "../../calls/recorded.ts";
import type { Context } from "../environment.ts";
import { isAnyOf, verifyAnswer, type Verified } from "./answers/answer.ts";

const verifiedSchema = z.strictObject({
  isCorrect: z.boolean(),
  answer: z.string().nullable(),
  source: z.enum(["boxed", "phrase", "number"]).nullable(),
  problem: z.string().optional(),
});

/** Increase it whenever other answers become equal or different. */
const version = 3;

type Recording = Pick<Context, "services">;

/** The final answer in a text, and whether it is one of the accepted ones. */
export function verified(text: string, accepted: readonly string[], context: Recording): Promise<Verified> {
  const question = ["math answer", version, text, accepted];
  return once(question, verifiedSchema, context, () =>
    verifyAnswer(text.toWellFormed(), accepted, context.services.log),
  );
}

/** Whether an answer that is already extracted equals one of the others. */
export function isAmong(
  answer: string,
  others: readonly string[],
  context: Recording,
): Promise<{ readonly isAmong: boolean; readonly problem?: string | undefined }> {
  return once(["math answers", version, answer, others], amongSchema, context, async () => {
    const { isSame, ...rest } = await isAnyOf(answer, others, context.services.log);
    return { isAmong: isSame, ...rest };
  });
}

const amongSchema = z.strictObject({ isAmong: z.boolean(), problem: z.string().optional() });

function once<T extends Sound<T>>(
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
