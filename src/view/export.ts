/** Runs as the data of one file: the recipes and curves of all, and the newest episodes of each as far as there is room. */
import type { ActionView, EpisodeView, Export } from "./api.ts";
import type { ViewedRun } from "./run.ts";
import type { ViewedRuns } from "./runs.ts";

export interface ExportLimits {
  /** Newest episodes of each run. */
  readonly episodes: number;
  /** Characters of all episodes together. */
  readonly characters: number;
}

/** @throws TroupeError `bad_run` for a run that is damaged: an export would not show that something is missing */
export async function exportOf(runs: ViewedRuns, limits: ExportLimits): Promise<Export> {
  const all = await runs.all();
  const names = all.map(({ name }) => name);
  const room = { characters: limits.characters };
  const exported: Awaited<ReturnType<typeof exportedRun>>[] = [];
  for (const run of all) exported.push(await exportedRun(run, limits.episodes, room));
  const byRun = <T>(of: (one: (typeof exported)[number]) => T): Record<string, T> =>
    Object.fromEntries(exported.map((one) => [one.name, of(one)]));
  return {
    runs: await Promise.all(all.map((run) => run.line())),
    pages: byRun(({ page }) => page),
    curves: byRun(({ curves }) => curves),
    differences: names.length > 1 ? await runs.compare(names) : [],
    lists: byRun(({ list }) => list),
    episodes: byRun(({ episodes }) => episodes),
    actions: byRun(({ actions }) => actions),
    leftOut: exported.flatMap(({ leftOut }) => leftOut),
  };
}

async function exportedRun(run: ViewedRun, most: number, room: { characters: number }) {
  const { name } = run;
  const [page, curves] = [await run.page(), await run.curves()];
  const list = await run.list({ filter: {}, cursor: null, limit: most });
  const episodes: Record<string, EpisodeView> = {};
  const actions: Record<string, Record<string, ActionView>> = {};
  for (const { id } of list.episodes) {
    const view = await run.episode(id, {});
    const own = await run.actions(id);
    room.characters -= JSON.stringify([view, own]).length;
    if (room.characters < 0) break;
    episodes[id] = view;
    actions[id] = own;
  }
  const kept = list.episodes.flatMap((line) => {
    const view = episodes[line.id];
    if (view === undefined) return [];
    const turns = Math.max(0, ...view.ends.map((end) => end.turns));
    return [{ ...line, turns, actions: Object.keys(view.actions).length }];
  });
  const lost = list.total - kept.length;
  const leftOut = [
    ...(lost === 0
      ? []
      : [`${name}: ${lost} of ${list.total} episodes; the newest ${kept.length} are here.`]),
    `${name}: files of programs, and playing on from a state.`,
  ];
  const shown = { ...list, total: kept.length, episodes: kept, cursor: null };
  // What is in the file needs no index.
  const index = { ...page.index, indexed: page.index.episodes };
  return { name, page: { ...page, index }, curves, list: shown, episodes, actions, leftOut };
}
