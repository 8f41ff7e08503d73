/**
 * Runs as the data of one file: the recipes and curves of all, and the newest episodes of each as far as there is room,
 * half of them of training: the newest of all would be those of the last evaluation, which have no siblings.
 */
import { playedEnds } from "../rollout/line.ts";
import type { ActionView, EpisodeLine, EpisodeView, Export } from "./api.ts";
import type { ViewedRun } from "./run.ts";
import type { ViewedRuns } from "./runs.ts";

export interface ExportLimits {
  /** Of each run. */
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
    leftOut: [
      ...exported.flatMap(({ leftOut }) => leftOut),
      `Not in this file: program files of ${names.join(", ")}, and “Continue from here”.`,
    ],
  };
}

async function exportedRun(run: ViewedRun, most: number, room: { characters: number }) {
  const { name } = run;
  const [page, curves] = [await run.page(), await run.curves()];
  const { list, all } = await newestOf(run, most);
  const episodes: Record<string, EpisodeView> = {};
  const actions: Record<string, Record<string, ActionView>> = {};
  for (const { id } of alternating(list.episodes)) {
    const view = await viewHere(run, id);
    const own = await run.actions(id);
    room.characters -= JSON.stringify([view, own]).length;
    if (room.characters < 0) break;
    episodes[id] = view;
    actions[id] = own;
  }
  const kept = list.episodes.flatMap((line) => {
    const view = episodes[line.id];
    if (view === undefined) return [];
    const turns = Math.max(0, ...playedEnds(view.ends, view.branched).map((end) => end.turns));
    return [{ ...line, turns, actions: Object.keys(view.actions).length }];
  });
  const shown = { ...list, total: kept.length, episodes: kept, cursor: null };
  const training = kept.filter(isOfTraining).length;
  const counts = `${training} of ${all.training} training and ${kept.length - training} of ${all.evaluations} evaluation`;
  const isWhole = kept.length === all.training + all.evaluations;
  const leftOut = isWhole ? [] : [`${name} has ${counts} episodes, the newest of each.`];
  // What is in the file needs no index.
  const index = { ...page.index, indexed: page.index.episodes };
  return { name, page: { ...page, index }, curves, list: shown, episodes, actions, leftOut };
}

/** Half of training and half of evaluations; if there are fewer of one, more of the other. */
async function newestOf(run: ViewedRun, most: number) {
  const count = async (from: "train" | "evaluation") =>
    (await run.list({ filter: { from }, cursor: null, limit: 0 })).total;
  const all = { training: await count("train"), evaluations: await count("evaluation") };
  const training = Math.min(all.training, Math.max(Math.ceil(most / 2), most - all.evaluations));
  return { all, list: await run.newest({ training, evaluations: most - training }) };
}

function isOfTraining({ team }: Pick<EpisodeLine, "team">): boolean {
  return team === null;
}

/** One of training, one of an evaluation, and so on: if the room ends, it ends for both. */
function alternating(lines: readonly EpisodeLine[]): readonly EpisodeLine[] {
  const ofTraining = lines.filter(isOfTraining);
  const others = lines.filter((line) => !isOfTraining(line));
  return lines.flatMap((_, place) => [ofTraining[place], others[place]]).filter((line) => line !== undefined);
}

/** The episode without the commands that play on from it, which name a folder of this machine. */
async function viewHere(run: ViewedRun, id: string): Promise<EpisodeView> {
  const view = await run.episode(id, {});
  return { ...view, nodes: view.nodes.map(({ play: _play, ...node }) => node) };
}
