/**
 * Filters of episodes: how an address has them, and what they let through. The server asks about rows of its index, the
 * page of an exported file about the episodes that are in it.
 */
import { TroupeError } from "../errors.ts";
import type { Filter } from "./api.ts";

const notFilters: ReadonlySet<string> = new Set(["cursor", "limit", "id"]);

type Reader = (query: URLSearchParams, name: keyof Filter) => unknown;

const word: Reader = (query, name) => query.get(name) || undefined;

const flag: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null) return undefined;
  if (value === "true" || value === "false") return value === "true";
  throw unreadable(name, value, "true or false");
};

const range: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null) return undefined;
  const ends = value.split("~").map((end) => (end.trim() === "" ? Number.NaN : Number(end)));
  if (ends.length === 2 && !ends.some(Number.isNaN)) return ends;
  throw unreadable(name, value, "two numbers, such as 0~0.5");
};

const origin: Reader = (query, name) => {
  const value = query.get(name);
  if (value === null || value === "train" || value === "evaluation") return value ?? undefined;
  throw unreadable(name, value, "train or evaluation");
};

const readers: Readonly<Record<keyof Filter, Reader>> = {
  text: word,
  from: origin,
  team: word,
  step: range,
  role: word,
  failed: flag,
  blamed: word,
  truncated: flag,
  reward: range,
  disagree: flag,
  dropped: flag,
};

/** Names in a query that are a filter. */
export const filterKeys = Object.keys(readers) as readonly (keyof Filter)[];

/** A filter that is not understood is an error: ignored, it would show too much. @throws TroupeError `bad_arguments` */
export function filterIn(query: URLSearchParams): Filter {
  for (const name of query.keys())
    if (!notFilters.has(name) && !Object.hasOwn(readers, name))
      throw new TroupeError(
        "bad_arguments",
        `there is no filter ${name.slice(0, 100)}; there are ${filterKeys.join(", ")}`,
      );
  const found = Object.entries(readers).map(
    ([name, read]) => [name, read(query, name as keyof Filter)] as const,
  );
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}

/** @throws TroupeError `bad_arguments` */
export function numberIn(
  query: URLSearchParams,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | null {
  const value = query.get(name);
  if (value === null) return null;
  const found = value.trim() === "" ? Number.NaN : Number(value);
  if (Number.isInteger(found) && found >= least && found <= most) return found;
  throw unreadable(name, value, `a whole number from ${least} to ${most}`);
}

/** What a page's address has that is no filter, in words. Null: nothing. */
export function ignoredIn(query: URLSearchParams): string | null {
  const ignored = [...new Set(query.keys())].filter((name) => !Object.hasOwn(readers, name));
  if (ignored.length === 0) return null;
  return `The address has ${ignored.join(", ")}, which is ignored. Filters are ${filterKeys.join(", ")}.`;
}

/** What is wrong with the ends of a range as they are typed, in words; an empty one is none. Null: nothing. */
export function rangeProblem(name: "step" | "reward", from: string, to: string): string | null {
  if (name === "step" && ![from, to].every((end) => /^\d*$/.test(end)))
    return "a step is a whole number from 0";
  return from !== "" && to !== "" && Number(from) > Number(to) ? "from is above to" : null;
}

function unreadable(name: string, value: string, expected: string): TroupeError {
  return new TroupeError("bad_arguments", `${name}=${value.slice(0, 100)}; expected ${expected}`);
}

/** What a list knows of an episode. */
export interface EpisodeFacts {
  readonly step: number;
  /** Null: sampled for training. */
  readonly team: string | null;
  readonly success: number;
}

export function isOfEpisode({ from, team, step, failed }: Filter, own: EpisodeFacts): boolean {
  return (
    (from === undefined || (from === "train") === (own.team === null)) &&
    (team === undefined || team === own.team) &&
    (step === undefined || (own.step >= step[0] && own.step <= step[1])) &&
    (failed === undefined || failed === own.success < 1)
  );
}

/** Whether it asks for more than a list knows of episodes. */
export function needsContents({
  from: _from,
  team: _team,
  step: _step,
  failed: _failed,
  ...others
}: Filter): boolean {
  return Object.values(others).some((value) => value !== undefined);
}

/** Whether it asks for actions. */
export function needsActions({ role, truncated, reward, dropped, text }: Filter): boolean {
  return [role, truncated, reward, dropped, text].some((value) => value !== undefined);
}

/** An action in one of the joint actions that it is part of. */
export interface ActionFacts {
  readonly role: string;
  readonly truncated: boolean;
  readonly dropped: boolean;
  /** Team and local together. Null: none. */
  readonly reward: number | null;
}

/** All that is asked of an action but the text. */
export function isOfAction({ role, truncated, dropped, reward }: Filter, own: ActionFacts): boolean {
  return (
    (role === undefined || role === own.role) &&
    (truncated === undefined || truncated === own.truncated) &&
    (dropped === undefined || dropped === own.dropped) &&
    (reward === undefined || isBetween(own.reward, reward))
  );
}

/** Rounded, as an index has 32 bits of a reward. */
function isBetween(value: number | null, [low, high]: NonNullable<Filter["reward"]>): boolean {
  if (value === null) return false;
  const rounded = Math.fround(value);
  return rounded >= Math.fround(low) && rounded <= Math.fround(high);
}

type Verdicts = readonly {
  readonly verdict?:
    | { readonly score: number; readonly blame?: string | null | undefined }
    | { readonly failure: string }
    | undefined;
}[];

export function isBlamed(role: string, edges: Verdicts): boolean {
  return edges.some(({ verdict }) => verdict !== undefined && "blame" in verdict && verdict.blame === role);
}

interface Tree {
  readonly nodes: readonly {
    readonly id: string;
    readonly parent: string | null;
    readonly actions: Verdicts;
  }[];
  readonly ends: readonly { readonly node: string; readonly success: boolean }[];
}

/** Whether the verdicts on the way to some end are on average on the other side of one half than its outcome. */
export function isDisputed({ nodes, ends }: Tree): boolean {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return ends.some(({ node, success }) => {
    let [total, count] = [0, 0];
    for (
      let at = byId.get(node);
      at !== undefined;
      at = at.parent === null ? undefined : byId.get(at.parent)
    ) {
      for (const { verdict } of at.actions) {
        if (verdict === undefined || !("score" in verdict)) continue;
        total += verdict.score;
        count += 1;
      }
    }
    return count > 0 && total / count >= 0.5 !== success;
  });
}
