/** The list of a run's episodes, filtered and searched. */
import type { EpisodeLine, EpisodeList, Filter, Found } from "./api.ts";
import type { Entries } from "./entries.ts";
import type { IndexColumns } from "./indexed/columns.ts";
import { actionFlags, episodeFlags } from "./indexed/format.ts";
import type { FoundTexts, RunningSearch } from "./indexed/searches.ts";
import { isOfAction, isOfEpisode, needsActions, needsContents, type ActionFacts } from "./filter.ts";
import { firstThat } from "./first-that.ts";

export interface ListedRun {
  readonly entries: Entries;
  /** Null: nothing is indexed yet, or the run was cut since. */
  readonly columns: IndexColumns | null;
  /** Of the filter's text. */
  readonly search: RunningSearch | null;
}

/** Numbers of matching episodes, the newest first. */
export function matching(listed: ListedRun, filter: Filter): number[] {
  const { entries } = listed;
  const isOfEntry = (at: number): boolean => {
    const team = entries.teams[entries.team[at] ?? 0] ?? null;
    return isOfEpisode(filter, { step: entries.step[at] ?? 0, team, success: entries.success[at] ?? 0 });
  };
  const isOfContents = needsContents(filter) ? contentsTest(listed, filter) : () => true;
  const found: number[] = [];
  for (let at = entries.count - 1; at >= 0; at--) if (isOfEntry(at) && isOfContents(at)) found.push(at);
  return found;
}

/** Whether all matching episodes are known. */
export function isExact({ entries, columns, search }: ListedRun, filter: Filter): boolean {
  if (!needsContents(filter)) return true;
  return columns?.head.episodes === entries.count && (search?.found.covers(columns.head) ?? true);
}

function contentsTest({ columns, search }: ListedRun, filter: Filter): (at: number) => boolean {
  if (columns === null) return () => false;
  const { blamed, disagree } = filter;
  const { episodes, roles } = columns.head;
  const blame = blamed === undefined ? null : roles.indexOf(blamed);
  const isWanted = actionTest(columns, search?.found ?? null, filter);
  return (at) => {
    if (at >= episodes) return false;
    if (blame !== null && (blame === -1 || ((columns.at("episodes", at, 5) >>> blame) & 1) === 0))
      return false;
    const isDisputed = (columns.at("episodes", at, 4) & episodeFlags.disagree) !== 0;
    if (disagree !== undefined && isDisputed !== disagree) return false;
    return isWanted === null || firstRow(columns, at, isWanted) !== null;
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
  texts: FoundTexts | null,
  filter: Filter,
): ((row: number) => boolean) | null {
  if (!needsActions(filter)) return null;
  const isInTexts = texts?.rowTest(columns) ?? (() => true);
  const action = new IndexedFacts(columns);
  return (row) => {
    action.row = row;
    return isOfAction(filter, action) && isInTexts(row);
  };
}

/** Of a row of the index. There are millions: only what is asked for is read. */
class IndexedFacts implements ActionFacts {
  readonly #columns: IndexColumns;
  row = 0;

  constructor(columns: IndexColumns) {
    this.#columns = columns;
  }

  get role(): string {
    return this.#columns.head.roles[this.#columns.at("actions", this.row, 3)] ?? "";
  }

  get truncated(): boolean {
    return this.#has(actionFlags.truncated);
  }

  get dropped(): boolean {
    return this.#has(actionFlags.dropped);
  }

  get reward(): number | null {
    return this.#has(actionFlags.rewarded) ? this.#columns.reward(this.row) : null;
  }

  #has(flag: number): boolean {
    return (this.#columns.at("actions", this.row, 4) & flag) !== 0;
  }
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
  // Now, not after what is waited for: the search goes on meanwhile, and `all` does not have what it finds.
  const share = entries.count === 0 ? 1 : (columns?.head.episodes ?? 0) / entries.count;
  const known = {
    total: all.length,
    isExact: isExact(listed, filter),
    searched: needsContents(filter) ? share * (search?.found.share ?? 1) : 1,
  };
  const start = before === null ? 0 : firstThat(all.length, (at) => (all[at] ?? 0) < before);
  const shown = all.slice(start, start + limit);
  const found = await foundIn(listed, filter, shown);
  const lines = (await entries.entries(shown)).map((entry, index): EpisodeLine => {
    const { id, step, evaluation, success, score } = entry;
    const line = { id, step, team: evaluation?.team ?? null, success, score };
    const own = found[index] ?? null;
    return { ...line, ...countsOf(columns, shown[index] ?? 0), ...(own === null ? {} : { found: own }) };
  });
  const cursor = start + limit < all.length ? String(shown.at(-1)) : null;
  return { ...known, episodes: lines, cursor };
}

function countsOf(columns: IndexColumns | null, episode: number): Pick<EpisodeLine, "turns" | "actions"> {
  if (columns === null || episode >= columns.head.episodes) return { turns: null, actions: null };
  let actions = 0;
  for (let row = startOf(columns, episode); row < columns.at("episodes", episode, 0); row++)
    if (columns.at("actions", row, 0) === row) actions += 1;
  return { turns: columns.at("episodes", episode, 3), actions };
}

/** Where the text was found first in each episode. Null: nothing was searched for. */
async function foundIn(
  { columns, search }: ListedRun,
  filter: Filter,
  episodes: readonly number[],
): Promise<readonly (Found | null)[]> {
  if (columns === null || search === null) return [];
  const test = actionTest(columns, search.found, filter);
  const places = episodes.map((episode) => {
    const row = test === null ? null : firstRow(columns, episode, test);
    const place = row === null ? null : search.found.textWithIt(columns, row);
    return row === null || place === null ? null : { ...place, action: actionOf(columns, episode, row) };
  });
  const excerpts = await search.excerpts(places.flatMap((place) => place?.text ?? []));
  let next = 0;
  return places.map((place) => {
    const excerpt = place === null ? null : (excerpts[next++] ?? null);
    if (place === null || excerpt === null) return null;
    return { action: place.action, where: place.isReply ? "reply" : "prompt", ...excerpt };
  });
}

/** The id of the action of a row. */
function actionOf(columns: IndexColumns, episode: number, row: number): string {
  const first = columns.at("actions", row, 0);
  let number = 0;
  for (let each = startOf(columns, episode); each < first; each++)
    if (columns.at("actions", each, 0) === each) number += 1;
  return columns.actionIds(episode)[number] ?? "";
}
