/**
 * Parses a judge program's output: one JSON object per line, each with the id of an action and a score or a failure.
 */
import type { Redact } from "../../calls/secrets.ts";
import { cutTo, showText } from "../../format.ts";
import type { JudgedScore } from "../../rollout/episode.ts";
import { jsonOrNull, repeatsKey } from "../../json.ts";

/** A verdict; what is wrong with the answer, so that it is asked for again; or why the program gives none. */
export type JudgeAnswer = JudgedScore | { readonly problem: string } | { readonly declined: string };

/** Longest explanation or failure kept, in characters. */
const longestText = 4000;

export interface Reading {
  /** Those that may be blamed. */
  readonly roles: ReadonlySet<string>;
  /** Texts are redacted once they are parsed, as a secret may be a word of the format, and before they are cut. */
  readonly redact: Redact;
}

/** Null: the line is not an answer to any question. */
export function readAnswer(
  line: string,
  reading: Reading,
): { readonly id: string; readonly answer: JudgeAnswer } | null {
  const value = jsonOrNull(line);
  if (typeof value !== "object" || value === null) return null;
  const { id, ...rest } = value as { readonly id?: unknown };
  if (typeof id !== "string") return null;
  if (repeatsKey(line)) return { id, answer: { problem: "the judge answered with a key twice" } };
  return { id, answer: answerOf(rest, reading) };
}

type Fields = Readonly<Record<string, unknown>>;

function answerOf(fields: Fields, reading: Reading): JudgeAnswer {
  const { redact } = reading;
  const { score, explanation, blame, failure } = fields;
  const problem = problemIn(fields, reading);
  if (problem !== null) return { problem: `the judge answered with ${problem}` };
  if (failure !== undefined) return { declined: cutTo(redact(failure as string), longestText) };
  return {
    score: score as number,
    ...(explanation === undefined ? {} : { explanation: cutTo(redact(explanation as string), longestText) }),
    ...(blame === undefined ? {} : { blame: isNobody(blame) ? null : (blame as string) }),
  };
}

/** Null: none. */
function problemIn(
  { score, explanation, blame, failure }: Fields,
  { roles, redact }: Reading,
): string | null {
  if (score !== undefined && failure !== undefined) return "both a score and a failure";
  if (failure !== undefined) return typeof failure === "string" ? null : "a failure that is not text";
  if (explanation !== undefined && typeof explanation !== "string") return "an explanation that is not text";
  if (typeof score !== "number" || !(score >= 0 && score <= 1))
    return `the score ${shown(redact(score))}, which is not a number from 0 to 1`;
  const isRole = typeof blame === "string" && roles.has(blame);
  return blame === undefined || isNobody(blame) || isRole
    ? null
    : `the blame ${shown(redact(blame))}, which is neither a role (${[...roles].join(", ")}) nor null`;
}

function isNobody(blame: unknown): boolean {
  return blame === null || blame === "none";
}

function shown(value: unknown): string {
  return showText(JSON.stringify(value) ?? "nothing", 40);
}
