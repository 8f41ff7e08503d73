/** Answers from an exported file what the server would, as far as the file goes. */
import type { ActionLine, EpisodeLine, EpisodeList, EpisodeView, Export, Filter, Found } from "../api.ts";
import { folded } from "../indexed/fold.ts";

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
          ? listIn(data, run, filterOf(query))
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
  const ids = listIn(data, run, filterOf(query)).episodes.map(({ id }) => id);
  const place = ids.indexOf(view.id);
  if (place === -1) return view;
  return { ...view, newer: ids[place - 1] ?? null, older: ids[place + 1] ?? null };
}

function listIn(data: Export, run: string, filter: Filter): EpisodeList {
  const list = data.lists[run];
  if (list === undefined) throw new Error(notThere);
  const episodes = list.episodes.flatMap((line): EpisodeLine[] => {
    const view = data.episodes[run]?.[line.id];
    if (!isOfLine(line, filter)) return [];
    if (!needsActions(filter)) return [line];
    return view === undefined ? [] : matching(line, view, filter, data.actions[run]?.[line.id] ?? {});
  });
  return { total: episodes.length, isExact: true, searched: 1, episodes, cursor: null };
}

/** The filter in a query; what is no filter is ignored. */
export function filterOf(query: URLSearchParams): Filter {
  const text = (key: string) => {
    const value = query.get(key);
    return value === null || value === "" ? {} : { [key]: value };
  };
  const flag = (key: string) => {
    const value = query.get(key);
    return value === "true" || value === "false" ? { [key]: value === "true" } : {};
  };
  const range = (key: string) => {
    const [low, high] = (query.get(key) ?? "").split("~").map(Number);
    return low === undefined || high === undefined || Number.isNaN(low + high) ? {} : { [key]: [low, high] };
  };
  const from = query.get("from");
  return {
    ...(from === "train" || from === "evaluation" ? { from } : {}),
    ...["text", "team", "role", "blamed"].reduce((all, key) => ({ ...all, ...text(key) }), {}),
    ...["failed", "truncated", "disagree", "dropped"].reduce((all, key) => ({ ...all, ...flag(key) }), {}),
    ...["step", "reward"].reduce((all, key) => ({ ...all, ...range(key) }), {}),
  };
}

function isOfLine(line: EpisodeLine, { from, team, step, failed }: Filter): boolean {
  const { team: itsTeam } = line;
  return (
    (from === undefined || (from === "train") === (itsTeam === null)) &&
    (team === undefined || team === itsTeam) &&
    (step === undefined || (line.step >= step[0] && line.step <= step[1])) &&
    (failed === undefined || failed === line.success < 1)
  );
}

function needsActions({ text, role, blamed, truncated, reward, disagree, dropped }: Filter): boolean {
  return [text, role, blamed, truncated, reward, disagree, dropped].some((each) => each !== undefined);
}

type Prompts = Readonly<Record<string, { readonly prompt: string }>>;

function matching(line: EpisodeLine, view: EpisodeView, filter: Filter, prompts: Prompts): EpisodeLine[] {
  const edges = view.nodes.flatMap(({ actions }) => actions);
  const blames = edges.map(({ verdict }) =>
    verdict !== undefined && "blame" in verdict ? verdict.blame : undefined,
  );
  if (filter.blamed !== undefined && !blames.includes(filter.blamed)) return [];
  if (filter.disagree !== undefined && filter.disagree !== isDisputed(view)) return [];
  for (const action of Object.values(view.actions)) {
    const rewards = edges.filter((edge) => edge.action === action.id);
    const found =
      filter.text === undefined ? null : findIn(action, prompts[action.id]?.prompt ?? "", filter.text);
    const holds =
      (filter.role === undefined || filter.role === action.role) &&
      (filter.truncated === undefined || filter.truncated === action.reply.truncated) &&
      (filter.dropped === undefined || filter.dropped === (action.droppedWhy !== undefined)) &&
      (filter.reward === undefined ||
        rewards.some(({ team, local }) => team !== null && isBetween(team + (local ?? 0), filter.reward))) &&
      found !== undefined;
    if (holds) return [found === null ? line : { ...line, found }];
  }
  return [];
}

function isBetween(value: number, range: Filter["reward"]): boolean {
  return range === undefined || (value >= range[0] && value <= range[1]);
}

/** The verdicts on the way to some end are on average on the other side of one half than its outcome. */
function isDisputed({ nodes, ends }: EpisodeView): boolean {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return ends.some(({ node, success }) => {
    const scores: number[] = [];
    for (let at = byId.get(node); at !== undefined; at = byId.get(at.parent ?? "none"))
      scores.push(...at.actions.flatMap(({ judge }) => judge ?? []));
    if (scores.length === 0) return false;
    return scores.reduce((sum, each) => sum + each, 0) / scores.length >= 0.5 !== success;
  });
}

function findIn(action: ActionLine, prompt: string, wanted: string): Found | undefined {
  const texts = [
    ["reply", `${action.reply.thinking ?? ""}${action.reply.text}`],
    ["prompt", prompt],
  ] as const;
  for (const [where, text] of texts) {
    const at = folded(text).indexOf(folded(wanted));
    if (at === -1) continue;
    const end = at + wanted.length;
    const [before, after] = [text.slice(Math.max(0, at - 40), at), text.slice(end, end + 80)];
    return { action: action.id, where, before, match: text.slice(at, end), after };
  }
  return undefined;
}
