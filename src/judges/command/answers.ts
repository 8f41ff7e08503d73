/**
 * Parses a judge program's output: one JSON object per line, each with the id of an action and a score or a failure.
 */
import { showText } from "../../format.ts";
import type { Verdict } from "../../rollout/episode.ts";
import { jsonOrNull } from "../../json.ts";

/** A verdict, or what is wrong with the answer. */
export type JudgeAnswer = Verdict | { readonly problem: string };

/** Longest explanation or failure kept, in characters. */
const longestText = 4000;

/** Null: the line is not an answer to any question. */
export function readAnswer(line: string): { readonly id: string; readonly answer: JudgeAnswer } | null {
  const value = jsonOrNull(line);
  if (typeof value !== "object" || value === null) return null;
  const { id, ...rest } = value as { readonly id?: unknown };
  return typeof id === "string" ? { id, answer: answerOf(rest) } : null;
}

function answerOf({ score, explanation, blame, failure }: Readonly<Record<string, unknown>>): JudgeAnswer {
  if (score !== undefined && failure !== undefined)
    return { problem: "the judge answered with both a score and a failure" };
  if (failure !== undefined) {
    return typeof failure === "string"
      ? { failure: bounded(failure) }
      : { problem: "the judge answered with a failure that is not text" };
  }
  if (explanation !== undefined && typeof explanation !== "string")
    return { problem: "the judge answered with an explanation that is not text" };
  if (typeof score !== "number" || !(score >= 0 && score <= 1))
    return {
      problem: `the judge answered with the score ${shown(score)}, which is not a number from 0 to 1`,
    };
  if (blame !== undefined && blame !== null && typeof blame !== "string")
    return { problem: "the judge answered with a blame that is neither a role nor null" };
  return {
    score,
    ...(explanation === undefined ? {} : { explanation: bounded(explanation) }),
    ...(blame === undefined ? {} : { blame: blame === null ? null : bounded(blame) }),
  };
}

function bounded(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText - 1)}…`;
}

function shown(value: unknown): string {
  return showText(JSON.stringify(value) ?? "nothing", 40);
}
