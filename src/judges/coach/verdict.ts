/**
 * Reads a coach's answer: one JSON object with exactly the demanded keys, wherever it stands in the answer. Nothing is
 * guessed: without one, or with two that differ, there is no verdict.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { objectsIn } from "../../json.ts";
import type { JudgedScore } from "../../rollout/episode.ts";

/** What is wrong with an answer: the same words for the same fault. */
export interface Malformed {
  readonly problem: string;
}

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

/** Services are asked for `none`; some say null all the same. */
function blameSchema(roles: readonly string[]): z.ZodType<string> {
  return z.preprocess((given) => (given === null ? nobody : given), z.enum([...roles, nobody]));
}

/** A score from 0 to 1. */
export function readScore(text: string, roles: readonly string[]): JudgedScore | Malformed {
  const read = readJson(text, scoreSchema(roles));
  if ("problem" in read) return read;
  const { score, reason, blame } = read.value;
  return { score: score / 10, explanation: reason, blame: blamed(blame) };
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
    const explanation = `rank ${own.rank} of ${labels.length}: ${own.reason}`;
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
  const parsed = objectsIn(text).map((object) => schema.safeParse(object));
  if (parsed.length === 0) return { problem: "the coach's answer has no JSON object" };
  const fitting = parsed.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const [value] = fitting;
  if (value === undefined) return { problem: `the coach's answer is not a verdict: ${faultOf(parsed)}` };
  const isOne = fitting.every((one) => isDeepStrictEqual(one, value));
  return isOne ? { value } : { problem: "the coach's answer has several verdicts that differ" };
}

/** Of the last object: what comes before may be thoughts. */
function faultOf(parsed: readonly z.ZodSafeParseResult<unknown>[]): string {
  const [issue] = parsed.at(-1)?.error?.issues ?? [];
  const where = issue?.path.join(".") ?? "";
  return `${where}${where === "" ? "" : ": "}${issue?.message ?? ""}`;
}

function blamed(blame: string): string | null {
  return blame === nobody ? null : blame;
}
