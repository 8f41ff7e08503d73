/**
 * Reads a coach's answer: one JSON object, alone or in one fenced block, with exactly the demanded keys. Nothing is guessed: an
 * answer in any other form is no verdict.
 */
import { z } from "zod";
import { showText } from "../../format.ts";
import { jsonOrNull } from "../../json.ts";
import type { JudgedScore } from "../../rollout/episode.ts";

/** What is wrong with an answer. */
export interface Malformed {
  readonly problem: string;
}

/** Longest reason kept, in characters. */
const longestReason = 1000;

const nobody = "none";

/** @param roles those that may be blamed */
export function scoreSchema(roles: readonly string[]): z.ZodType<ScoreAnswer> {
  return z.strictObject({ reason: z.string(), blame: blameSchema(roles), score: z.number().min(0).max(10) });
}

export function rankingSchema(roles: readonly string[], labels: readonly string[]): z.ZodType<RankAnswer> {
  const item = z.strictObject({
    id: z.enum(labels),
    reason: z.string(),
    blame: blameSchema(roles),
    rank: z.int().min(1).max(labels.length),
  });
  return z.strictObject({ ranking: z.array(item).length(labels.length) });
}

interface ScoreAnswer {
  readonly reason: string;
  readonly blame: string;
  readonly score: number;
}

interface RankAnswer {
  readonly ranking: readonly (Omit<ScoreAnswer, "score"> & { readonly id: string; readonly rank: number })[];
}

function blameSchema(roles: readonly string[]): z.ZodType<string> {
  return z.enum([...roles, nobody]);
}

/** A score from 0 to 1. */
export function readScore(text: string, roles: readonly string[]): JudgedScore | Malformed {
  const read = readJson(text, scoreSchema(roles));
  if ("problem" in read) return read;
  const { score, reason, blame } = read.value;
  return { score: score / 10, explanation: bounded(reason), blame: blamed(blame) };
}

/** In the order of the labels: 1 for the best, 0 for the worst; equal ranks share the mean of their places. */
export function readRanking(
  text: string,
  roles: readonly string[],
  labels: readonly string[],
): { readonly verdicts: readonly JudgedScore[] } | Malformed {
  const read = readJson(text, rankingSchema(roles, labels));
  if ("problem" in read) return read;
  const { ranking } = read.value;
  const byId = new Map(ranking.map((one) => [one.id, one]));
  if (byId.size < labels.length) return { problem: "the coach ranked an alternative twice" };
  const ranks = ranking.map(({ rank }) => rank);
  const verdicts = labels.flatMap((label): JudgedScore[] => {
    const own = byId.get(label);
    if (own === undefined) return [];
    const explanation = bounded(`rank ${own.rank} of ${labels.length}: ${own.reason}`);
    return [{ score: shareBelow(own.rank, ranks), explanation, blame: blamed(own.blame) }];
  });
  return { verdicts };
}

/** The share of the others that are worse; equal ones count half. */
function shareBelow(rank: number, ranks: readonly number[]): number {
  const worse = ranks.filter((one) => one > rank).length;
  const equal = ranks.filter((one) => one === rank).length - 1;
  return (worse + equal / 2) / (ranks.length - 1);
}

function readJson<T>(text: string, schema: z.ZodType<T>): { readonly value: T } | Malformed {
  const value = jsonOrNull(withoutFence(text));
  if (value === null || value === undefined)
    return { problem: `the coach's answer is not JSON: ${quoted(text)}` };
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data };
  const [issue] = parsed.error.issues;
  const where = issue?.path.join(".") ?? "";
  return {
    problem: `the coach's answer is not a verdict: ${where}${where === "" ? "" : ": "}${issue?.message ?? ""}`,
  };
}

/** What a fenced block contains, if the text is one. */
function withoutFence(text: string): string {
  return /^```(?:json)?[ \t]*\n([^]*)\n```$/i.exec(text.trim())?.[1] ?? text;
}

function blamed(blame: string): string | null {
  return blame === nobody ? null : blame;
}

function bounded(text: string): string {
  const whole = text.toWellFormed();
  return whole.length <= longestReason ? whole : `${whole.slice(0, longestReason - 1).toWellFormed()}…`;
}

function quoted(text: string): string {
  return text.trim() === "" ? "it is empty" : `"${showText(text.slice(0, 300), 120)}"`;
}
