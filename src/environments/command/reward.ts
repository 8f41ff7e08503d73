/** What an episode of a program earned: read from where the recipe says, and given to the replies of its roles. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { RoleReply } from "../../gateway/roles.ts";
import { answerIdOf } from "../../gateway/session.ts";
import { jsonOrNull, repeatsKey } from "../../json.ts";
import { digestOfFile } from "../../runs/digests.ts";
import { sum } from "../../statistics.ts";
import type { ActionReward, Json } from "../environment.ts";
import { rewardPlaces, type CommandOptions } from "./options.ts";
import type { ProgramEnd } from "./program.ts";

const number = z.number().min(0).max(1);

/** A number, or more about it. */
const earnedSchema = z.union([
  number.transform((score) => ({ score })),
  z.strictObject({
    /** The team's, in [0, 1]. */
    score: number,
    /** Default: whether the score is 1. */
    success: z.boolean().optional(),
    /** What roles did well on their own, in [0, 1], by name. */
    roles: z.record(z.string(), number).optional(),
    /** The same of single replies, by the ids of the answers. */
    replies: z.record(z.string(), number).optional(),
    reason: z.string().optional(),
  }),
]);

export type Earned = {
  readonly score: number;
  readonly success?: boolean | undefined;
  readonly roles?: Readonly<Record<string, number>> | undefined;
  readonly replies?: Readonly<Record<string, number>> | undefined;
  readonly reason?: string | undefined;
  /** What went wrong, the same for all that failed in this way. */
  readonly problem?: string;
};

/** What a grader's module is given. */
export interface PlayedEpisode {
  readonly task: Json;
  readonly exitCode: number | null;
  readonly output: string;
  readonly replies: readonly Pick<RoleReply, "id" | "role" | "added" | "reply">[];
}

export interface Grader {
  readonly grade: (played: PlayedEpisode) => unknown;
  /** Of its file. */
  readonly digest: string;
}

/** @throws TroupeError `bad_recipe` if the module has no grader */
export async function graderOf({ reward }: CommandOptions): Promise<Grader | null> {
  if (rewardPlaces.includes(reward)) return null;
  const file = path.resolve(reward);
  const problem = (what: string, cause?: unknown) =>
    new TroupeError("bad_recipe", `environment.reward: ${file} ${what}`, { cause });
  const loaded = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    const expected = `expected ${rewardPlaces.join(", ")} or the path of a module`;
    throw problem(`cannot be loaded (${expected}): ${String(cause)}`, cause);
  });
  const { default: grade } = loaded as { readonly default?: unknown };
  if (typeof grade === "function")
    return { grade: grade as Grader["grade"], digest: await digestOfFile(file) };
  throw problem(
    "has no default export that is a function: `export default ({ task, output, replies }) => 1`",
  );
}

type RewardOptions = Pick<CommandOptions, "reward" | "seats" | "timeoutSeconds">;

/** What is wrong with a value that is reported as the reward; null: nothing. */
export function reportProblem(
  { reward, seats }: RewardOptions,
  value: unknown,
  isKnown: (id: string) => boolean,
): string | null {
  // Graders and judges need none, and any value tells a grader something.
  if (reward === "none" || !rewardPlaces.includes(reward)) return null;
  const earned = earnedIn(value, seats, isKnown);
  if (typeof earned !== "string") return null;
  return `This is no reward${earned}: expected a number from 0 to 1, or { score, success?, roles?, replies?, reason? }.`;
}

/** Places whose rewards others report. */
export const isReported = ({ reward, url }: Pick<CommandOptions, "reward" | "url">): boolean =>
  reward === "webhook" || url !== undefined;

/**
 * Null: nothing rewards the episode. A program that failed, or whose reward cannot be read, earns nothing, with the
 * reason.
 * @param reported undefined: nothing was
 * @throws ServiceError for a grader that takes too long; TroupeError `bad_recipe` for one that gives neither a reward nor null,
 * and whatever it throws
 */
export async function earnedBy(
  options: RewardOptions,
  grade: ((played: PlayedEpisode) => Promise<unknown>) | null,
  end: ProgramEnd,
  task: Json,
  { replies, reported }: { readonly replies: readonly RoleReply[]; readonly reported: unknown },
): Promise<Earned | null> {
  const { reward, seats } = options;
  if (reward === "exit-code") return { score: end.exitCode === 0 ? 1 : 0, ...reasonOf(end) };
  if (end.problem !== null)
    return { score: 0, problem: `the program failed: ${end.problem}`, ...reasonOf(end) };
  const ids = new Set(replies.flatMap(({ id }) => [id, answerIdOf(id)]));
  const isKnown = (id: string): boolean => ids.has(id);
  if (grade !== null) {
    const output = reported === undefined ? end.output : JSON.stringify(reported);
    return graded(await grade({ task, exitCode: end.exitCode, output, replies }), seats, isKnown);
  }
  if (reward === "none") return null;
  if (reported !== undefined || reward === "webhook") {
    const earned = reported === undefined ? null : earnedIn(reported, seats, isKnown);
    return typeof earned === "string"
      ? { score: 0, problem: unreadable, reason: `what was reported is no reward${earned}` }
      : earned;
  }
  const text = end.reward;
  if (text === null || text.trim() === "") return null;
  // Some systems begin a file with a mark of its encoding, which is white space here, but not to JSON.
  const earned = earnedInText(text.trim(), seats, isKnown);
  if (typeof earned !== "string") return earned;
  return {
    score: 0,
    problem: unreadable,
    reason: `${places[reward] ?? reward} is no reward: ${showText(text.trim(), 80)}${earned}`,
  };
}

const places: Readonly<Record<string, string>> = {
  "last-line": "the last line of its output",
  file: "$TROUPE_REWARD_FILE",
  answer: "the service's answer",
};

/** As `earnedIn`, of JSON: one with a key twice has two rewards. */
function earnedInText(
  text: string,
  seats: readonly string[],
  isKnown: (id: string) => boolean,
): Earned | string {
  const value = jsonOrNull(text);
  return value !== null && repeatsKey(text) ? " (it has a key twice)" : earnedIn(value, seats, isKnown);
}

/** Text, which may be empty: it is no reward, and more about why. */
function earnedIn(
  value: unknown,
  seats: readonly string[],
  isKnown: (id: string) => boolean,
): Earned | string {
  const read = earnedSchema.safeParse(value);
  if (!read.success) return "";
  const stranger = strangerIn(read.data, seats, isKnown);
  return stranger === null ? read.data : ` (${stranger})`;
}

/** What a reward is given to, but does not exist: it would be lost. Null: nothing. */
function strangerIn(
  { roles = {}, replies: rewarded = {} }: Earned,
  seats: readonly string[],
  isKnown: (id: string) => boolean,
): string | null {
  const role = Object.keys(roles).find((name) => !seats.includes(name));
  if (role !== undefined) return `there is no role \`${role}\`; the roles are ${seats.join(", ")}`;
  const reply = Object.keys(rewarded).find((id) => !isKnown(bareId(id)));
  return reply === undefined ? null : `no answer has the id \`${reply}\``;
}

/** Protocols put different words before the id of a reply. */
const bareId = (id: string): string => id.replace(/^(chatcmpl-|msg_|resp_)/, "");

const unreadable = "the reward cannot be read";

function reasonOf({ problem, errors }: ProgramEnd): { reason?: string } {
  if (problem === null) return {};
  const last = errors.trim().split("\n").at(-1) ?? "";
  return { reason: `the program failed: ${problem}${last === "" ? "" : ` (${showText(last, 200)})`}` };
}

function graded(value: unknown, seats: readonly string[], isKnown: (id: string) => boolean): Earned | null {
  if (value === null || value === undefined) return null;
  const earned = earnedIn(value, seats, isKnown);
  if (typeof earned !== "string") return earned;
  throw new TroupeError(
    "bad_recipe",
    `environment.reward: the grader gave ${showText(JSON.stringify(value) ?? typeof value, 80)}${earned}; expected a number from 0 to 1, { score, success?, roles?, replies?, reason? }, or null.`,
  );
}

/**
 * The rewards of the replies, in their order. The score, and what a role did well on its own, are the role's for the whole
 * episode: they are given once, to the last of its replies that can train, so that more replies do not earn more.
 */
export function rewardsOf(
  { score, roles, replies: own = {}, reason }: Earned,
  replies: readonly RoleReply[],
): readonly ActionReward[] {
  const ofReplies = new Map(Object.entries(own).map(([id, value]) => [bareId(id), value]));
  const last = (role: string): RoleReply | undefined => {
    const all = replies.filter((one) => one.role === role);
    return all.findLast(({ masked }) => masked === undefined) ?? all.at(-1);
  };
  return replies.map((reply) => {
    const { id, role } = reply;
    const isLast = last(role) === reply;
    const ofReply = ofReplies.get(id) ?? ofReplies.get(answerIdOf(id));
    const given = [ofReply, isLast ? roles?.[role] : undefined].filter((one) => one !== undefined);
    const local = sum(given);
    return {
      team: isLast ? score : 0,
      local,
      parts: given.length === 0 ? {} : { own: local },
      ...(reason === undefined ? {} : { reason }),
    };
  });
}
