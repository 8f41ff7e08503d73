/** Asks a judge each question once: earlier answers are found by the hash of the question. */
import { createHash } from "node:crypto";
import type { JudgedScore, Verdict } from "../rollout/episode.ts";
import type { Recordable, RecordedCalls, RecordedFailure } from "../calls/recorded.ts";
import type { Subject } from "./subject.ts";

/** The question; its id is the hash of the judge and of the question. */
export interface Asked<Question> {
  readonly id: string;
  readonly question: Question;
  /** Recorded with the answer. */
  readonly about: Subject;
}

export interface AskOnce<Question, Answer = Verdict> {
  /** @param about the actions in question, where it is asked first */
  ask(question: Question, about: Subject): Promise<Answer>;
  /** Records the failures so far. Each applies to the episode in which it occurred; a later episode asks again. */
  settle(): Promise<void>;
}

type Failed = { readonly failure: string };

/**
 * @param judge identifies it, with everything besides the question that its answers depend on
 * @param answer of the judge itself; with the key `failure` if it failed
 * @param read a recorded answer; null: it is none
 */
export function askOnce<Question extends object, Answer extends Recordable>(
  calls: RecordedCalls,
  judge: object,
  answer: (asked: Asked<Question>) => Promise<Answer | Failed>,
  read: (recorded: unknown) => Answer | Failed | null,
): AskOnce<Question, Answer | Failed> {
  const underWay = new Map<string, Promise<Answer | Failed>>();
  const failed = new Map<string, RecordedFailure>();

  const failedIn = (key: string): Failed | undefined => {
    const found = failed.get(key);
    return found && { failure: found.failure };
  };
  const askFirst = async (asked: Asked<Question>): Promise<Answer | Failed> => {
    const verdict = await answer(asked);
    if (verdict.failure === undefined)
      await calls.put([{ key: asked.id, answer: verdict, about: asked.about }]);
    return verdict;
  };
  return {
    async ask(question, about) {
      const id = digestOf([judge, question]);
      const inEpisode = digestOf([id, about.episode]);
      const known = failedIn(inEpisode) ?? calls.get(inEpisode) ?? calls.get(id);
      const recorded = read(known);
      if (recorded !== null) return recorded;
      const asking = underWay.get(id) ?? askFirst({ id, question, about }).finally(() => underWay.delete(id));
      underWay.set(id, asking);
      const verdict = await asking;
      if (verdict.failure !== undefined)
        failed.set(inEpisode, { key: inEpisode, failure: verdict.failure, about });
      return verdict;
    },
    async settle() {
      const failures = [...failed.values()];
      failed.clear();
      await calls.put(failures);
    },
  };
}

/** Null: no answer, or not one that Troupe recorded. */
export function asVerdict(value: unknown): Verdict | null {
  if (typeof value !== "object" || value === null) return null;
  const { failure, score, explanation, blame } = value as Partial<JudgedScore> & {
    readonly failure?: unknown;
  };
  if (typeof failure === "string") return { failure };
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
