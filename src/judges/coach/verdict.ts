/**
 * Reads a coach's answer: its last JSON object, which has exactly the demanded keys, whatever stands around it. Nothing is
 * guessed. There is no verdict if that object has other keys, or one twice; if another verdict before it differs; if a
 * further object begins and does not end; or if it is a quotation of what the coach was shown.
 */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { endsInBrokenObject, objectsIn, repeatsKey, type FoundObject } from "../../json.ts";
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

/** What was asked, and what came back. */
export interface Exchanged {
  /** The whole question, with the texts that it quotes. */
  readonly asked: string;
  readonly answer: string;
}

/** A score from 0 to 1. */
export function readScore(exchanged: Exchanged, roles: readonly string[]): JudgedScore | Malformed {
  const read = readJson(exchanged, scoreSchema(roles));
  if ("problem" in read) return read;
  const { score, reason, blame } = read.value;
  return { score: score / 10, explanation: reason, blame: blamed(blame) };
}

/** In the order of the labels: 1 for the best, 0 for the worst; equal ranks share the mean of their places. */
export function readRanking(
  exchanged: Exchanged,
  roles: readonly string[],
  labels: readonly string[],
): { readonly verdicts: readonly JudgedScore[] } | Malformed {
  const read = readJson(exchanged, rankingSchema(roles, labels));
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

function readJson<T>({ asked, answer }: Exchanged, schema: z.ZodType<T>): { readonly value: T } | Malformed {
  const found = objectsIn(answer);
  const last = found.at(-1);
  if (last === undefined) return { problem: "the coach's answer has no JSON object" };
  if (endsInBrokenObject(answer, found))
    return { problem: "the coach's answer has an object at its end that is not complete" };
  if (repeatsKey(last.text)) return { problem: "the coach's answer is not a verdict: it has a key twice" };
  const { data: value, error } = schema.safeParse(last.value);
  if (error !== undefined) return { problem: `the coach's answer is not a verdict: ${faultOf(error)}` };
  const others = found.flatMap((one) => schema.safeParse(one.value).data ?? []);
  if (!others.every((one) => isDeepStrictEqual(one, value)))
    return { problem: "the coach's answer has several verdicts that differ" };
  if (isQuotation(last, { asked, answer }))
    return { problem: "the coach's answer only quotes a verdict that it was shown" };
  return { value };
}

/** Whether an object with prose around it is a copy of what others wrote. One that is the whole answer is the coach's own. */
function isQuotation({ text }: FoundObject, { asked, answer }: Exchanged): boolean {
  const around = answer.replaceAll(text, "").replaceAll(/```\w*/g, "");
  return /\p{L}/u.test(around) && bare(asked).includes(bare(text));
}

/** Without what writing it anew, or inside other JSON, changes. */
function bare(text: string): string {
  return text.replaceAll(/[\s\\]/g, "");
}

function faultOf({ issues: [issue] }: z.ZodError): string {
  const where = issue?.path.join(".") ?? "";
  return `${where}${where === "" ? "" : ": "}${issue?.message ?? ""}`;
}

function blamed(blame: string): string | null {
  return blame === nobody ? null : blame;
}
