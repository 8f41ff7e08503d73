/** Asks a judge each question once: earlier answers are found by the hash of the question. */
import { createHash } from "node:crypto";
import { answerOf, type Outcome } from "../calls/call.ts";
import type { JudgedScore, Verdict } from "../rollout/episode.ts";
import { recordedCall, type RecordedCalls, type RecordedFailure, type Sound } from "../calls/recorded.ts";
import type { Service } from "../calls/services.ts";
import { ServiceError } from "../errors.ts";
import type { Subject } from "./subject.ts";

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
export function asVerdict(value: unknown): Verdict | null {
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
