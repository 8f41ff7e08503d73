/** What a run's judge said, in the order in which it was recorded. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import type { Verdict } from "../rollout/episode.ts";
import { readLines } from "../runs/json-lines.ts";
import { layoutOf } from "../runs/layout.ts";
import { asVerdict } from "./ask-once.ts";
import { rejectedSchema, type Rejected } from "./coach/rejected.ts";
import { usageSchema, type Usage } from "./coach/spending.ts";
import { subjectSchema, type Subject } from "./subject.ts";

export interface VerdictLog {
  readonly questions: readonly LoggedQuestion[];
  /** What the coach used; null: nothing that was counted. */
  readonly usage: Usage | null;
}

export interface LoggedQuestion {
  readonly about: Subject;
  /** In the order of the subject's actions; a failure is that of all of them. Empty: there is no verdict yet. */
  readonly verdicts: readonly Verdict[];
  /** Answers before, which were no verdict. */
  readonly rejected: readonly Rejected[];
}

/** @throws TroupeError `bad_run` for a damaged file */
export async function readVerdictLog(directory: string): Promise<VerdictLog> {
  const file = layoutOf(directory).verdicts;
  const lines = await readLines(file);
  const questions: Draft[] = [];
  /** The last question about a subject, until it has a verdict. */
  const open = new Map<string, Draft>();
  let usage: Usage | null = null;
  for (const { value } of lines) {
    const used = usageSchema.safeParse(value["answer"]);
    if (used.success) usage = used.data;
    const about = subjectSchema.safeParse(value["about"]).data;
    const rejected = rejectedSchema.safeParse(value["answer"]);
    const verdicts = verdictsIn(value["answer"]);
    if (!rejected.success && verdicts === null) continue;
    if (about === undefined)
      throw new TroupeError("bad_run", `${file} has a verdict that names no action. Restore the file.`);
    const key = JSON.stringify(about);
    const known = open.get(key);
    const question: Draft = known ?? { about, verdicts: [], rejected: [] };
    if (known === undefined) questions.push(question);
    open.set(key, question);
    if (rejected.success) question.rejected.push(rejected.data);
    if (verdicts === null) continue;
    question.verdicts = verdicts;
    open.delete(key);
  }
  return { questions, usage };
}

interface Draft extends LoggedQuestion {
  verdicts: readonly Verdict[];
  readonly rejected: Rejected[];
}

const severalSchema = z.object({ verdicts: z.array(z.unknown()) });

/** Null: the line is none of a verdict. */
function verdictsIn(answer: unknown): readonly Verdict[] | null {
  const several = severalSchema.safeParse(answer);
  const verdicts = (several.success ? several.data.verdicts : [answer]).map(asVerdict);
  return verdicts.every((verdict) => verdict !== null) ? verdicts : null;
}
