/** What an episode of a program earned: read from where the recipe says, and given to the replies of its roles. */
import path from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import type { RoleReply } from "../../gateway/session.ts";
import { jsonOrNull } from "../../json.ts";
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
};

/** What a grader's module is given. */
export interface PlayedEpisode {
  readonly task: Json;
  readonly exitCode: number | null;
  readonly output: string;
  readonly replies: readonly Pick<RoleReply, "id" | "role" | "added" | "reply">[];
}

export type Grader = (played: PlayedEpisode) => unknown;

/** @throws TroupeError `bad_recipe` if the module has no grader */
export async function graderOf({ reward }: CommandOptions): Promise<Grader | null> {
  if (rewardPlaces.includes(reward)) return null;
  const file = path.resolve(reward);
  const problem = (what: string, cause?: unknown) =>
    new TroupeError("bad_recipe", `environment.reward: ${file} ${what}`, { cause });
  const loaded = await import(pathToFileURL(file).href).catch((cause: unknown) => {
    throw problem(`cannot be loaded: ${String(cause)}`, cause);
  });
  const { default: grader } = loaded as { readonly default?: unknown };
  if (typeof grader === "function") return grader as Grader;
  throw problem(
    "has no default export that is a function: `export default ({ task, output, replies }) => 1`",
  );
}

/**
 * Null: nothing rewards the episode. A program that failed, or whose reward cannot be read, earns nothing, with the
 * reason.
 * @throws TroupeError `bad_recipe` for a grader that gives neither a reward nor null, and whatever it throws
 */
export async function earnedBy(
  { reward, seats }: Pick<CommandOptions, "reward" | "seats">,
  grader: Grader | null,
  end: ProgramEnd,
  task: Json,
  replies: readonly RoleReply[],
): Promise<Earned | null> {
  if (reward === "exit-code") return { score: end.exitCode === 0 ? 1 : 0, ...reasonOf(end) };
  if (end.problem !== null) return { score: 0, ...reasonOf(end) };
  if (grader !== null) {
    const { exitCode, output } = end;
    return graded(await grader({ task, exitCode, output, replies }), seats, replies);
  }
  if (reward === "none") return null;
  const text = reward === "file" ? end.rewardFile : end.lastLine;
  const place = reward === "file" ? "$TROUPE_REWARD_FILE" : "the last line of its output";
  if (text === null || text.trim() === "") return null;
  const earned = earnedIn(jsonOrNull(text), seats, replies);
  if (typeof earned !== "string") return earned;
  return { score: 0, reason: `${place} is no reward: ${showText(text.trim(), 80)}${earned}` };
}

/** Text, which may be empty: it is no reward, and more about why. */
function earnedIn(value: unknown, seats: readonly string[], replies: readonly RoleReply[]): Earned | string {
  const read = earnedSchema.safeParse(value);
  if (!read.success) return "";
  const stranger = strangerIn(read.data, seats, replies);
  return stranger === null ? read.data : ` (${stranger})`;
}

/** What a reward is given to, but does not exist: it would be lost. Null: nothing. */
function strangerIn(
  { roles = {}, replies: rewarded = {} }: Earned,
  seats: readonly string[],
  replies: readonly RoleReply[],
): string | null {
  const role = Object.keys(roles).find((name) => !seats.includes(name));
  if (role !== undefined) return `there is no role \`${role}\`; the roles are ${seats.join(", ")}`;
  const known = new Set(replies.map(({ id }) => id));
  const reply = Object.keys(rewarded).find((id) => !known.has(bareId(id)));
  return reply === undefined ? null : `no answer has the id \`${reply}\``;
}

/** Protocols put different words before the id of a reply. */
const bareId = (id: string): string => id.replace(/^(chatcmpl-|msg_|resp_)/, "");

function reasonOf({ problem, errors }: ProgramEnd): { reason?: string } {
  if (problem === null) return {};
  const last = errors.trim().split("\n").at(-1) ?? "";
  return { reason: `the program failed: ${problem}${last === "" ? "" : ` (${showText(last, 200)})`}` };
}

function graded(value: unknown, seats: readonly string[], replies: readonly RoleReply[]): Earned | null {
  if (value === null || value === undefined) return null;
  const earned = earnedIn(value, seats, replies);
  if (typeof earned !== "string") return earned;
  throw new TroupeError(
    "bad_recipe",
    `environment.reward: the grader gave ${showText(JSON.stringify(value) ?? typeof value, 80)}${earned}; expected a number from 0 to 1, { score, success?, roles?, replies?, reason? }, or null.`,
  );
}

/** The reward of one reply: the team's score, and what it or its role did well on its own. */
export function rewardOf({ score, roles, replies, reason }: Earned, { id, role }: RoleReply): ActionReward {
  const named = Object.entries(replies ?? {}).find(([one]) => bareId(one) === id);
  const own = named?.[1] ?? roles?.[role];
  return {
    team: score,
    local: own ?? 0,
    parts: own === undefined ? {} : { own },
    ...(reason === undefined ? {} : { reason }),
  };
}
