/** Answers from an exported file what the server would, as far as the file goes. */
import { playedEnds } from "../../rollout/line.ts";
import type {
  ActionLine,
  EdgeView,
  EpisodeLine,
  EpisodeList,
  EpisodeView,
  Export,
  Filter,
  Found,
} from "../api.ts";
import {
  filterIn,
  isBlamed,
  isDisputed,
  isOfAction,
  isOfEpisode,
  needsActions,
  needsContents,
  type ActionFacts,
} from "../filter.ts";
import { excerptOf, folded, searchable, textOfReply } from "../indexed/fold.ts";

/** @throws Error in words for people, if the file does not have it */
export function answerFrom(data: Export, path: string): unknown {
  const url = new URL(path, "http://exported");
  const [, , kind = "", run = "", what = ""] = url.pathname.split("/").map(decodeURIComponent);
  if (kind === "compare") return differencesIn(data, url.searchParams.get("runs")?.split(",") ?? []);
  if (kind !== "runs") throw new Error(notThere);
  if (run === "") return data.runs;
  const query = url.searchParams;
  const answer =
    what === ""
      ? data.pages[run]
      : what === "curves"
        ? data.curves[run]
        : what === "episodes"
          ? listIn(data, run, filterIn(query))
          : what === "episode"
            ? episodeIn(data, run, query)
            : what === "action"
              ? data.actions[run]?.[query.get("episode") ?? ""]?.[query.get("action") ?? ""]
              : undefined;
  if (answer === undefined) throw new Error(notThere);
  return answer;
}

const notThere = "This exported file does not have it; the viewer on the machine with the run shows it.";

/** Values of the runs that are compared, of those of all exported ones. */
function differencesIn({ runs, differences }: Export, chosen: readonly string[]): Export["differences"] {
  const places = chosen.map((run) => runs.findIndex((line) => line.run === run));
  return differences
    .map(({ key, values }) => ({ key, values: places.map((place) => values[place] ?? null) }))
    .filter(({ values }) => new Set(values).size > 1);
}

function episodeIn(data: Export, run: string, query: URLSearchParams): EpisodeView | undefined {
  const view = data.episodes[run]?.[query.get("id") ?? ""];
  if (view === undefined) return undefined;
  const ids = listIn(data, run, filterIn(query)).episodes.map(({ id }) => id);
  const place = ids.indexOf(view.id);
  if (place === -1) return view;
  return { ...view, newer: ids[place - 1] ?? null, older: ids[place + 1] ?? null };
}

function listIn(data: Export, run: string, filter: Filter): EpisodeList {
  const list = data.lists[run];
  if (list === undefined) throw new Error(notThere);
  const episodes = list.episodes.flatMap((line): readonly EpisodeLine[] => {
    const view = data.episodes[run]?.[line.id];
    if (!isOfEpisode(filter, line)) return [];
    if (!needsContents(filter)) return [line];
    return view === undefined ? [] : matching(line, view, filter, data.actions[run]?.[line.id] ?? {});
  });
  return { total: episodes.length, isExact: true, searched: 1, episodes, cursor: null };
}

type Prompts = Readonly<Record<string, { readonly prompt: string }>>;

/** The line with what was found, or nothing. */
function matching(line: EpisodeLine, view: EpisodeView, filter: Filter, prompts: Prompts): EpisodeLine[] {
  const edges = view.nodes.flatMap(({ actions }) => actions);
  const played = { ...view, ends: playedEnds(view.ends, view.branched) };
  if (filter.blamed !== undefined && !isBlamed(filter.blamed, edges)) return [];
  if (filter.disagree !== undefined && filter.disagree !== isDisputed(played)) return [];
  if (!needsActions(filter)) return [line];
  const actions = Object.values(view.actions).filter((action) =>
    factsOf(action, edges).some((facts) => isOfAction(filter, facts)),
  );
  if (filter.text === undefined) return actions.length === 0 ? [] : [line];
  const wanted = folded(searchable(filter.text));
  const [found] = actions.flatMap((action) => findIn(action, prompts[action.id]?.prompt ?? "", wanted) ?? []);
  return found === undefined ? [] : [{ ...line, found }];
}

/** In each joint action that it is part of. */
function factsOf(
  { id, role, stopReason, droppedWhy }: ActionLine,
  edges: readonly EdgeView[],
): ActionFacts[] {
  const own = edges.filter(({ action }) => action === id);
  const rewards = own.map(({ team, local }) => (team === null ? null : team + (local ?? 0)));
  return (rewards.length === 0 ? [null] : rewards).map((reward) => {
    return { role, truncated: stopReason === "length", dropped: droppedWhy !== undefined, reward };
  });
}

function findIn(action: ActionLine, prompt: string, wanted: string): Found | null {
  const texts = [
    ["reply", textOfReply(action.reply)],
    ["prompt", prompt],
  ] as const;
  for (const [where, text] of texts) {
    const excerpt = excerptOf(searchable(text), wanted);
    if (excerpt !== null) return { action: action.id, where, ...excerpt };
  }
  return null;
}
