/** The list of a run's episodes, filtered and searched. */
import type { EpisodeLine, EpisodeList, Filter, Found } from "./api.ts";
import type { Entries } from "./entries.ts";
import type { IndexColumns } from "./indexed/columns.ts";
import { actionFlags, episodeFlags } from "./indexed/format.ts";
import type { Search } from "./indexed/search.ts";

export interface ListedRun {
  readonly entries: Entries;
  /** Null: nothing is indexed yet, or the run was cut since. */
  readonly columns: IndexColumns | null;
  /** Of the filter's text. */
  readonly search: Search | null;
}

/** Numbers of matching episodes, the newest first. */
export function matching(listed: ListedRun, filter: Filter): number[] {
  const { entries } = listed;
  const isOfEntry = entryTest(entries, filter);
  const isOfContents = needsIndex(filter) ? contentsTest(listed, filter) : () => true;
  const found: number[] = [];
  for (let at = entries.count - 1; at >= 0; at--) if (isOfEntry(at) && isOfContents(at)) found.push(at);
  return found;
}

/** Whether all matching episodes are known. */
export function isExact({ entries, columns, search }: ListedRun, filter: Filter): boolean {
  if (!needsIndex(filter)) return true;
  return columns?.head.episodes === entries.count && (search?.share ?? 1) === 1;
}

function needsIndex({ from: _from, team: _team, step: _step, failed: _failed, ...others }: Filter): boolean {
  return Object.values(others).some((value) => value !== undefined);
}

function entryTest(entries: Entries, { from, team, step, failed }: Filter): (at: number) => boolean {
  const wanted = team === undefined ? null : entries.teams.indexOf(team);
  return (at) => {
    const own = entries.team[at] ?? 0;
    const [when = 0, success = 0] = [entries.step[at], entries.success[at]];
    return (
      (from === undefined || (from === "train") === (own === 0)) &&
      (wanted === null || own === wanted) &&
      (step === undefined || (when >= step[0] && when <= step[1])) &&
      (failed === undefined || failed === success < 1)
    );
  };
}

function contentsTest({ columns, search }: ListedRun, filter: Filter): (at: number) => boolean {
  if (columns === null) return () => false;
  const { blamed, disagree } = filter;
  const { episodes, roles } = columns.head;
  const blame = blamed === undefined ? null : roles.indexOf(blamed);
  const isOfAction = actionTest(columns, search, filter);
  return (at) => {
    if (at >= episodes) return false;
    if (blame !== null && (blame === -1 || ((columns.at("episodes", at, 5) >>> blame) & 1) === 0))
      return false;
    const isDisputed = (columns.at("episodes", at, 4) & episodeFlags.disagree) !== 0;
    if (disagree !== undefined && isDisputed !== disagree) return false;
    return isOfAction === null || firstRow(columns, at, isOfAction) !== null;
  };
}

/** The first row of an episode that passes. Null: none. */
function firstRow(columns: IndexColumns, episode: number, test: (row: number) => boolean): number | null {
  const end = columns.at("episodes", episode, 0);
  for (let row = startOf(columns, episode); row < end; row++) if (test(row)) return row;
  return null;
}

function startOf(columns: IndexColumns, episode: number): number {
  return episode === 0 ? 0 : columns.at("episodes", episode - 1, 0);
}

/** Null: the filter says nothing about actions. */
function actionTest(
  columns: IndexColumns,
  search: Search | null,
  { role, truncated, reward, dropped, text }: Filter,
): ((row: number) => boolean) | null {
  if ([role, truncated, reward, dropped, text].every((value) => value === undefined)) return null;
  const wanted = role === undefined ? null : columns.head.roles.indexOf(role);
  // The index has 32 bits of a reward: the ends are rounded as it was.
  const ends = reward?.map(Math.fround);
  const has = (row: number, flag: number): boolean => (columns.at("actions", row, 4) & flag) !== 0;
  return (row) => {
    if (wanted !== null && columns.at("actions", row, 3) !== wanted) return false;
    if (truncated !== undefined && has(row, actionFlags.truncated) !== truncated) return false;
    if (dropped !== undefined && has(row, actionFlags.dropped) !== dropped) return false;
    if (ends !== undefined) {
      const [low = 0, high = 0] = ends;
      const own = columns.reward(row);
      if (!has(row, actionFlags.rewarded) || own < low || own > high) return false;
    }
    return search === null || isFound(columns, search, row);
  };
}

function isFound(columns: IndexColumns, search: Search, row: number): boolean {
  return (
    search.isInReply(columns.at("actions", row, 0)) ||
    search.promptWithIt(columns, columns.at("actions", row, 1)) !== null
  );
}

/** @param limit at most so many @param before the number of the last episode that was shown; null: none was */
export async function listOf(
  listed: ListedRun,
  filter: Filter,
  {
    all,
    before,
    limit,
  }: { readonly all: readonly number[]; readonly before: number | null; readonly limit: number },
): Promise<EpisodeList> {
  const { entries, columns, search } = listed;
  const start = before === null ? 0 : placeBelow(all, before);
  const shown = all.slice(start, start + limit);
  const lines = (await entries.entries(shown)).map((entry, index): EpisodeLine => {
    const { id, step, evaluation, success, score } = entry;
    const line = { id, step, team: evaluation?.team ?? null, success, score };
    return { ...line, ...contentsOf(listed, filter, shown[index] ?? 0) };
  });
  const share = entries.count === 0 ? 1 : (columns?.head.episodes ?? 0) / entries.count;
  return {
    total: all.length,
    isExact: isExact(listed, filter),
    searched: needsIndex(filter) ? share * (search?.share ?? 1) : 1,
    episodes: lines,
    cursor: start + limit < all.length ? String(shown.at(-1)) : null,
  };
}

/** The place of the first number below another in a falling list. */
function placeBelow(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

function contentsOf(
  { columns, search }: ListedRun,
  filter: Filter,
  episode: number,
): Pick<EpisodeLine, "turns" | "actions" | "found"> {
  if (columns === null || episode >= columns.head.episodes) return { turns: null, actions: null };
  const [start, end] = [startOf(columns, episode), columns.at("episodes", episode, 0)];
  let actions = 0;
  for (let row = start; row < end; row++) if (columns.at("actions", row, 0) === row) actions += 1;
  const test = search === null ? null : actionTest(columns, search, filter);
  const row = test === null ? null : firstRow(columns, episode, test);
  const found = row === null || search === null ? null : foundAt(columns, search, episode, row);
  return { turns: columns.at("episodes", episode, 3), actions, ...(found === null ? {} : { found }) };
}

/** Characters of the text around what was found. */
const [charactersBefore, charactersAfter] = [40, 80];

function foundAt(columns: IndexColumns, search: Search, episode: number, row: number): Found | null {
  const first = columns.at("actions", row, 0);
  const isReply = search.isInReply(first);
  const prompt = isReply ? null : search.promptWithIt(columns, columns.at("actions", row, 1));
  const text = columns.text(
    prompt === null ? columns.at("actions", row, 2) : columns.at("prompts", prompt, 3),
  );
  const at = search.placeIn(text);
  if (at === null) return null;
  let number = 0;
  for (let each = startOf(columns, episode); each < first; each++)
    if (columns.at("actions", each, 0) === each) number += 1;
  const end = at + search.text.length;
  return {
    action: columns.actionIds(episode)[number] ?? "",
    where: isReply ? "reply" : "prompt",
    before: text.slice(Math.max(0, at - charactersBefore), at).toWellFormed(),
    match: text.slice(at, end),
    after: text.slice(end, end + charactersAfter).toWellFormed(),
  };
}
