/** Asks a judge program, retries after invalid answers, and turns the rest into failures. */
import { ServiceError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import { retrying } from "../../calls/retry.ts";
import type { Verdict } from "../../rollout/episode.ts";
import type { Asked } from "../ask-once.ts";
import { readAnswer, type JudgeAnswer } from "./answers.ts";
import type { Heard, JudgeProgram, ProgramEnd } from "./program.ts";
import { cancelled, runProgram } from "./program.ts";

export type Posed = Asked<object>;

export interface Answering {
  readonly program: JudgeProgram;
  readonly retries: RetryOptions;
  readonly signal?: AbortSignal | undefined;
  /** Redacts what must not be repeated from the program's output. */
  readonly clean: (text: string) => string;
}

/**
 * A verdict for each, in order.
 * @throws TroupeError `cancelled`
 */
export async function answersTo(posed: readonly Posed[], answering: Answering): Promise<Verdict[]> {
  const { retries, signal } = answering;
  const verdicts = new Map<string, Verdict>();
  const failures = new Map<string, string>();
  const put = async (): Promise<void> => {
    const open = posed.filter(({ id }) => !verdicts.has(id));
    for (const [id, answer] of await putOnce(open, answering)) {
      if ("problem" in answer) failures.set(id, answer.problem);
      else verdicts.set(id, answer);
    }
    if (verdicts.size < posed.length) throw new ServiceError("the judge gave no valid answer");
  };
  try {
    await retrying(put, retries, signal);
  } catch (error) {
    if (signal?.aborted === true) throw cancelled();
    if (!(error instanceof ServiceError)) throw error;
  }
  return posed.map(
    ({ id }) => verdicts.get(id) ?? { failure: failures.get(id) ?? "the judge was not asked" },
  );
}

/** Starts the program once and reads an answer to each question. */
async function putOnce(
  open: readonly Posed[],
  { program, signal, clean }: Answering,
): Promise<[id: string, answer: JudgeAnswer][]> {
  const input = open.map(({ id, question }) => `${JSON.stringify({ id, ...question })}\n`).join("");
  const heard = listener(open.map(({ id }) => id));
  const end = await runProgram(program, input, heard.hear, signal);
  return open.map(({ id }) => {
    const answer = heard.answers.get(id) ?? { problem: whyNone(end, heard.strange()) };
    return [id, cleaned(answer, clean)];
  });
}

interface Listener {
  readonly hear: (line: string) => Heard;
  readonly answers: ReadonlyMap<string, JudgeAnswer>;
  /** The first line that answered nothing; empty: none. */
  readonly strange: () => string;
}

function listener(ids: readonly string[]): Listener {
  const asked = new Set(ids);
  const answers = new Map<string, JudgeAnswer>();
  let strange = "";
  const hear = (line: string): Heard => {
    const read = readAnswer(line);
    if (read === null || !asked.has(read.id)) {
      strange ||= line;
      return "nothing";
    }
    const isFirst = !answers.has(read.id);
    answers.set(read.id, isFirst ? read.answer : { problem: "the judge answered twice" });
    if (!isFirst) return "nothing";
    return answers.size === asked.size ? "last" : "more";
  };
  return { hear, answers, strange: () => strange };
}

/** Longest quote of the program's output, in characters. */
const longestQuote = 1000;

function whyNone({ problem, stderr }: ProgramEnd, strange: string): string {
  const wrote =
    stderr.trim() === "" ? "" : `; its last output on stderr: ${quoted(stderr.slice(-longestQuote))}`;
  const line = strange === "" ? "" : `; it wrote ${quoted(strange)}, which is not an answer`;
  return `the judge gave no answer: ${problem ?? "it exited without one"}${line}${wrote}`;
}

function quoted(text: string): string {
  return `"${showText(text, longestQuote)}"`;
}

function cleaned(answer: JudgeAnswer, clean: (text: string) => string): JudgeAnswer {
  if ("problem" in answer) return { problem: clean(answer.problem) };
  if ("failure" in answer) return { failure: clean(answer.failure) };
  return answer.explanation === undefined ? answer : { ...answer, explanation: clean(answer.explanation) };
}
