/**
 * A run's record of verdicts. A judge is asked each question once: earlier answers are found by the hash of the question.
 * Answers of a coach that are no verdicts are kept beside them, and the whole is read for people who want to see it.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { answerOf, type Outcome } from "../calls/call.ts";
import { recordedCall, type RecordedCalls, type RecordedFailure, type Sound } from "../calls/recorded.ts";
import type { Service } from "../calls/services.ts";
import { ServiceError, TroupeError } from "../errors.ts";
import { toVisible } from "../format.ts";
import type { JudgedScore, Verdict } from "../rollout/episode.ts";
import { readLines } from "../runs/json-lines.ts";
import { layoutOf } from "../runs/layout.ts";
import { usageSchema, type Usage } from "./coach/spending.ts";
import { subjectSchema, type Subject } from "./judge.ts";

/** The question; its id is the hash of the judge and of the question. */
export interface Asked<Question> {
  readonly id: string;
  readonly question: Question;
  /** Recorded with the answer. */
  readonly about: Subject;
}

export interface AskOnce<Question, Answer> {
  /** @param about the actions in question, where it is asked first */
  ask(question: Question, about: Subject): Promise<Answer | Failed>;
  /** Records the failures so far. Each applies to the episode in which it occurred; a later episode asks again. */
  settle(): Promise<void>;
}

type Failed = { readonly failure: string };

export interface Respondent<Question, Answer> {
  /** Identifies the judge, with everything besides the question that its answers depend on. */
  readonly identity: object;
  /** Asks it. */
  readonly answer: (asked: Asked<Question>) => Promise<Outcome<Answer>>;
  /** A recorded answer; null: it is none. */
  readonly read: (recorded: unknown) => Answer | null;
  /** Counts answers that need not be asked for; `answer` counts the others. */
  readonly service: Service;
}

export function askOnce<Question extends object, Answer extends Sound<Answer>>(
  calls: RecordedCalls,
  { identity, answer, read, service }: Respondent<Question, Answer>,
): AskOnce<Question, Answer> {
  const failed = new Map<string, RecordedFailure>();
  return {
    async ask(question, about) {
      const id = digestOf([identity, question]);
      const inEpisode = digestOf([id, about.episode]);
      const known = failed.get(inEpisode)?.failure ?? failureIn(calls.get(inEpisode));
      if (known !== null) {
        service.ended("failed", known);
        return { failure: known };
      }
      const ask = async (): Promise<Answer> => answerOf(await answer({ id, question, about }));
      try {
        return await recordedCall(calls, { key: id, read, ask, about, service, sharesFailures: true });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        failed.set(inEpisode, { key: inEpisode, failure: error.message, about });
        return { failure: error.message };
      }
    },
    async settle() {
      const failures = [...failed.values()];
      failed.clear();
      await calls.put(failures);
    },
  };
}

/** Null: none. */
function failureIn(recorded: unknown): string | null {
  const { failure } = (recorded ?? {}) as Partial<Failed>;
  return typeof failure === "string" ? failure : null;
}

/** A recorded verdict or failure; null: neither. */
function asVerdict(value: unknown): Verdict | null {
  const failure = failureIn(value);
  return failure === null ? asScore(value) : { failure };
}

/** Null: no score, or not one that Troupe recorded. */
export function asScore(value: unknown): JudgedScore | null {
  if (typeof value !== "object" || value === null) return null;
  const { score, explanation, blame } = value as Partial<JudgedScore>;
  if (typeof score !== "number" || !(score >= 0 && score <= 1)) return null;
  return {
    score,
    ...(typeof explanation === "string" ? { explanation } : {}),
    ...(typeof blame === "string" || blame === null ? { blame } : {}),
  };
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(canonical(value)).digest("hex").slice(0, 32);
}

/** JSON with sorted keys: the same text for the same value. As in JSON, undefined values are omitted. */
function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const given = Object.entries(value).filter(([, one]) => one !== undefined);
  const entries = given.toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${canonical(one)}`).join(",")}}`;
}

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

/** Answers of a coach that are no verdicts, kept with the run's verdicts so that people can see what it said. */
const rejectedSchema = z.object({
  /** Why it is no verdict. */
  problem: z.string(),
  text: z.string(),
});

export type Rejected = z.output<typeof rejectedSchema>;

/** Of each answer this many characters are kept. */
const longestKept = 2000;

/** Of a run this many answers are kept: a coach that never gives a verdict repeats itself. */
const mostKept = 1000;

const counts = new WeakMap<RecordedCalls, number>();

/** Recorded at once: a run that stops because of such answers must show them. */
export async function keepRejected(
  calls: RecordedCalls,
  about: Subject,
  { problem, text }: Rejected,
): Promise<void> {
  const number = counts.get(calls) ?? recordedIn(calls);
  counts.set(calls, number + 1);
  if (number >= mostKept) return;
  const answer: Rejected = { problem, text: toVisible(text.slice(0, longestKept)) };
  await calls.put([{ key: keyOf(number), answer, about }]);
}

function recordedIn(calls: RecordedCalls): number {
  let number = 0;
  while (calls.get(keyOf(number)) !== undefined) number += 1;
  return number;
}

function keyOf(number: number): string {
  return `coach rejected ${number}`;
}
