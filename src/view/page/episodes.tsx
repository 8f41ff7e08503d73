/** The episodes of a run: searched, filtered, newest first. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EpisodeLine, EpisodeList, IndexState, RunPage } from "../api.ts";
import { ignoredIn } from "../filter.ts";
import { address, filterQuery, go, linkTo } from "./address.ts";
import { ask, pathOfRun, useAnswer, useUntilExact } from "./data.ts";
import { Filters } from "./filters.tsx";
import { useKeys } from "./keys.ts";
import { rowId, VirtualList } from "./list.tsx";
import { figure, percent, Problem, Words } from "./text.tsx";
import { taskIn } from "./titles.ts";

const pageSize = 100;

export function Episodes({ page }: { readonly page: RunPage }) {
  const query = filterQuery(address.value.query).toString();
  const ignored = ignoredIn(address.value.query);
  const list = useList(page.run, query);
  const search = useRef<HTMLInputElement>(null);
  const { episodes } = list;
  const { at, setAt } = useListKeys({
    run: page.run,
    query,
    episodes,
    search: () => search.current?.focus(),
  });
  return (
    <div class="episodes">
      <Filters page={page} search={search} />
      {ignored !== null && <Problem text={ignored} />}
      <Count list={list} index={page.index} />
      {list.problem !== undefined && <Problem text={list.problem} />}
      {page.index.problem !== undefined && <Problem text={page.index.problem} />}
      <div class="episode-line head" aria-hidden="true">
        <span class="number">Step</span>
        <span>Task</span>
        <span>From</span>
        <span>Success</span>
        <span class="number">Score</span>
        <span class="number">Turns</span>
      </div>
      <VirtualList
        name="Episodes"
        count={episodes.length}
        rowHeight={query.includes("text=") ? 60 : 36}
        current={at}
        onEnd={list.more}
        row={(index) => (
          <Line
            line={episodes[index]}
            link={linkOf(page.run, episodes[index], query)}
            isCurrent={index === at}
            index={index}
            onPoint={() => setAt(index)}
          />
        )}
      />
    </div>
  );
}

interface ListKeys {
  readonly run: string;
  readonly query: string;
  readonly episodes: readonly EpisodeLine[];
  readonly search: () => void;
}

/** The row that keys act on. */
function useListKeys({ run, query, episodes, search }: ListKeys) {
  const [at, setAt] = useState(0);
  useEffect(() => setAt(0), [query]);
  const move = (by: number) => () => setAt(Math.max(0, Math.min(episodes.length - 1, at + by)));
  const open = () => {
    const line = episodes[at];
    if (line !== undefined) go(linkOf(run, line, query));
  };
  useKeys("Episodes", [
    { keys: "j|ArrowDown", label: "next episode", run: move(1) },
    { keys: "k|ArrowUp", label: "previous episode", run: move(-1) },
    { keys: "PageDown", label: "ten down", run: move(10) },
    { keys: "PageUp", label: "ten up", run: move(-10) },
    { keys: "Enter|o", label: "open the episode", run: () => isFree() && open() },
    { keys: "/", label: "search in prompts and replies", run: search },
    { keys: "x", label: "clear the filters", run: () => go(linkTo(address.value.path)) },
  ]);
  return { at, setAt };
}

/** Enter on a control is the control's. */
function isFree(): boolean {
  const focused = document.activeElement;
  return focused === null || focused === document.body || focused.getAttribute("role") === "listbox";
}

function linkOf(run: string, line: EpisodeLine | undefined, query: string): string {
  const search = new URLSearchParams(query);
  if (line?.found !== undefined) search.set("action", line.found.action);
  return linkTo(["runs", run, "episode", line?.id ?? ""], search);
}

interface CountProps {
  readonly list: Loaded;
  readonly index: IndexState;
}

function Count({ list, index: { indexed, episodes } }: CountProps) {
  const isFirst = list.isLoading && list.episodes.length === 0;
  return (
    <p class="count" aria-live="polite">
      {list.problem !== undefined ? null : isFirst ? "Searching…" : countOf(list)}
      {indexed < episodes && <span class="soft"> {percent(indexed / episodes)} of the run is indexed.</span>}
    </p>
  );
}

function countOf({ total, isExact, searched }: EpisodeList): string {
  const count = `${total.toLocaleString("en-US")} ${total === 1 ? "episode" : "episodes"}`;
  return isExact ? count : `${count} so far, ${percent(searched)} searched`;
}

type Loaded = EpisodeList & {
  readonly isLoading: boolean;
  readonly problem?: string;
  readonly more: () => void;
};

const none: EpisodeList = { total: 0, isExact: true, searched: 1, episodes: [], cursor: null };

/** The first part of the list, and further ones as they are scrolled to. An unfinished search is asked again. */
function useList(run: string, query: string): Loaded {
  const base = pathOfRun(run, `/episodes?${query}${query === "" ? "" : "&"}limit=${pageSize}`);
  const first = useAnswer<EpisodeList>(base);
  const [rest, setRest] = useState<readonly EpisodeList[]>([]);
  const asking = useRef<string | null>(null);
  useEffect(() => {
    asking.current = null;
    setRest([]);
  }, [first.data]);
  useUntilExact(run, base, first);
  const head = first.data ?? none;
  const parts = [head, ...rest];
  const cursor = parts.at(-1)?.cursor ?? null;
  const more = () => {
    if (cursor === null || asking.current === cursor) return;
    asking.current = cursor;
    void ask<EpisodeList>(`${base}&cursor=${encodeURIComponent(cursor)}`).then(
      (part) => asking.current === cursor && setRest((before) => [...before, part]),
      () => (asking.current = null),
    );
  };
  const last = parts.at(-1) ?? head;
  const episodes = parts.flatMap((part) => part.episodes);
  const state = { ...last, total: Math.max(...parts.map(({ total }) => total)), episodes, more };
  const { problem, isLoading } = first;
  return { ...state, isLoading, ...(problem === undefined ? {} : { problem }) };
}

interface LineProps {
  readonly line: EpisodeLine | undefined;
  readonly link: string;
  readonly isCurrent: boolean;
  readonly index: number;
  readonly onPoint: () => void;
}

function Line({ line, link, isCurrent, index, onPoint }: LineProps) {
  if (line === undefined) return null;
  const { id, step, team, success, score, turns, found } = line;
  return (
    <a
      id={rowId(index)}
      role="option"
      aria-selected={isCurrent}
      tabIndex={-1}
      class={`episode-line ${isCurrent ? "is-current" : ""}`}
      href={link}
      onMouseDown={onPoint}
    >
      <span class="number">{step}</span>
      <span class="task-name">
        <Words text={taskIn(id)} />
      </span>
      <span class="soft">
        {team === null ? (
          "training"
        ) : (
          <>
            evaluation: <Words text={team} />
          </>
        )}
      </span>
      <Success share={success} />
      <span class="number">{figure(score)}</span>
      <span class="number">{figure(turns)}</span>
      {found !== undefined && (
        <span class="found">
          <bdi>
            <i>{found.where}</i>
            <span class="before">
              <Words text={found.before} />
            </span>
            <mark>
              <Words text={found.match} />
            </mark>
            <Words text={found.after} />
          </bdi>
        </span>
      )}
    </a>
  );
}

export function Success({ share }: { readonly share: number }) {
  if (share >= 1) return <span class="up">solved</span>;
  if (share <= 0) return <span class="down">failed</span>;
  return <span>{percent(share)}</span>;
}
