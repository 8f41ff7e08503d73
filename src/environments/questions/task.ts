/** Questions over documents, and where they are from. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";

const text = z.string().trim().min(1);

export const questionSchema = z.strictObject({
  question: text,
  /** Any of them is right. */
  answers: z.array(text).min(1),
});

export type QuestionTask = z.output<typeof questionSchema>;

const line = z.looseObject(questionSchema.shape);

/** @throws TroupeError `bad_data` if the file is not JSON lines of questions */
export async function readQuestions(file: string): Promise<readonly QuestionTask[]> {
  const written = await readFile(file, "utf8").catch((cause: Error) => {
    throw new TroupeError("bad_data", `the questions ${file} cannot be read: ${cause.message}`, { cause });
  });
  const lines = written.split("\n").filter((one) => one.trim() !== "");
  const questions = lines.map((one, index) => {
    const parsed = line.safeParse(jsonOrNull(one));
    if (parsed.success) return { question: parsed.data.question, answers: parsed.data.answers };
    const expected = 'expected {"question": …, "answers": [ … ]}';
    throw new TroupeError("bad_data", `${file}, line ${index + 1}, is not a question: ${expected}`);
  });
  if (questions.length > 0) return questions;
  throw new TroupeError("bad_data", `${file} has no questions`);
}
