/** Asks a judge program, and again what it did not answer. */
import type { Outcome } from "../../calls/call.ts";
import { retrying, type RetryOptions } from "../../calls/retry.ts";
import type { Redact } from "../../calls/secrets.ts";
import type { Service } from "../../calls/services.ts";
import { ServiceError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { JudgedScore } from "../../rollout/episode.ts";
import type { Asked } from "../verdicts.ts";
import { cancelled, runProgram, type Heard, type JudgeProgram, type ProgramEnd } from "./program.ts";
import { readAnswer, type JudgeAnswer, type ActionQuestion } from "./question.ts";

export type Posed = Asked<ActionQuestion>;

export interface Answering {
  readonly program: JudgeProgram;
  /** Of the team: any of them may be blamed. */
  readonly roles: readonly string[];
  /** Each start of the program is an attempt. */
  readonly service: Service;
  readonly retries: RetryOptions;
  readonly signal?: AbortSignal | undefined;
  /** What must not be repeated from the program's output. */
  readonly redact: Redact;
}

/**
 * A verdict for each, in order; a fault: an answer that is none; a failure: no answer.
 * @throws TroupeError `cancelled`
 */
export async function answersTo(
  posed: readonly Posed[],
  answering: Answering,
): Promise<Outcome<JudgedScore>[]> {
  const { retries, service, signal } = answering;
  const outcomes = new Map<string, Outcome<JudgedScore>>();
  let open = posed;
  const put = (attempt: number): Promise<void> =>
    service.attempt(attempt, async () => {
      const answers = await putOnce(open, answering);
      for (const [id, answer] of answers) outcomes.set(id, outcomeOf(answer));
      open = open.filter((_, index) => isAskedAgain(answers[index]?.[1]));
      if (open.length > 0) throw new ServiceError("the judge gave no valid answer");
    });
  try {
    await retrying(put, retries, signal);
  } catch (error) {
    if (signal?.aborted === true) throw cancelled();
    if (!(error instanceof ServiceError)) throw error;
  }
  const unasked = { failure: new ServiceError("the judge was not asked") };
  return posed.map(({ id }) => outcomes.get(id) ?? unasked);
}

type Heeded = JudgeAnswer | { readonly failure: ServiceError };

function outcomeOf(answer: Heeded): Outcome<JudgedScore> {
  if ("failure" in answer) return answer;
  if ("score" in answer) return { answer };
  return { fault: "problem" in answer ? answer.problem : answer.declined };
}

/** A program that declines has answered. */
function isAskedAgain(answer: Heeded | undefined): boolean {
  return answer === undefined || "problem" in answer || "failure" in answer;
}

/** Starts the program once and reads an answer to each question, in order. */
async function putOnce(
  open: readonly Posed[],
  { program, roles, signal, redact }: Answering,
): Promise<[id: string, answer: Heeded][]> {
  const input = open.map(({ id, question }) => `${JSON.stringify({ id, ...question })}\n`).join("");
  const heard = listener(open, roles, redact);
  const end = await runProgram(program, input, heard.hear, signal);
  return open.map(({ id }) => {
    const answer = heard.answers.get(id);
    if (answer !== undefined) return [id, answer];
    return [id, { failure: new ServiceError(whyNone(redact(end), redact(heard.strange()))) }];
  });
}

interface Listener {
  readonly hear: (line: string) => Heard;
  readonly answers: ReadonlyMap<string, JudgeAnswer>;
  /** The first line that answered nothing; empty: none. */
  readonly strange: () => string;
}

function listener(posed: readonly Posed[], team: readonly string[], redact: Redact): Listener {
  const asked = new Set(posed.map(({ id }) => id));
  const roles = new Set([...team, ...posed.flatMap(({ question }) => rolesIn(question))]);
  const answers = new Map<string, JudgeAnswer>();
  let strange = "";
  const hear = (line: string): Heard => {
    const read = readAnswer(line, { roles, redact });
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

/** They may be another team's. */
function rolesIn({ role, together, earlier, later }: ActionQuestion): readonly string[] {
  return [role, ...[...together, ...earlier, ...later.flat()].map((one) => one.role)];
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
