/** The episodes of a run: searched, filtered, newest first. */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { EpisodeLine, EpisodeList, RunPage } from "../api.ts";
import { address, changeQuery, filterQuery, go, linkTo } from "./address.ts";
import { ask, askAgain, pathOfRun, useAnswer } from "./data.ts";
import { Toggle } from "./curves.tsx";
import { useKeys } from "./keys.ts";
import { rowId, VirtualList } from "./list.tsx";
import { figure, percent, Problem, Words } from "./text.tsx";
import { taskIn } from "./titles.ts";

const pageSize = 100;
/** Milliseconds until an unfinished search is asked again. */
const unfinished = 300;

export function Episodes({ page }: { readonly page: RunPage }) {
  const query = filterQuery(address.value.query).toString();
  const list = useList(page.run, query);
  const [at, setAt] = useState(0);
  const search = useRef<HTMLInputElement>(null);
  const { episodes } = list;
  useEffect(() => setAt(0), [query]);
  const move = (by: number) => () => setAt(Math.max(0, Math.min(episodes.length - 1, at + by)));
  const open = () => {
    const line = episodes[at];
    if (line !== undefined) go(linkOf(page.run, line, query));
  };
  useKeys("Episodes", [
    { keys: "j|ArrowDown", label: "next episode", run: move(1) },
    { keys: "k|ArrowUp", label: "previous episode", run: move(-1) },
    { keys: "PageDown", label: "ten down", run: move(10) },
    { keys: "PageUp", label: "ten up", run: move(-10) },
    { keys: "Enter|o", label: "open the episode", run: () => isFree() && open() },
    { keys: "/", label: "search in prompts and replies", run: () => search.current?.focus() },
    { keys: "x", label: "clear the filters", run: () => go(linkTo(address.value.path)) },
  ]);
  return (
    <div class="episodes">
      <Filters page={page} search={search} />
      <p class="count" aria-live="polite">
        {list.problem !== undefined
          ? null
          : list.isLoading && episodes.length === 0
            ? "Searching…"
            : countOf(list)}
        {page.index.indexed < page.index.episodes && (
          <span class="soft">
            {" "}
            {percent(page.index.indexed / page.index.episodes)} of the run is indexed.
          </span>
        )}
      </p>
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
  useEffect(() => {
    if (first.data?.isExact !== false) return undefined;
    const timer = setTimeout(() => askAgain(run, base), unfinished);
    return () => clearTimeout(timer);
  }, [first.data]);
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
  if (share >= 1) return <span class="up">✓ yes</span>;
  if (share <= 0) return <span class="down">✗ no</span>;
  return <span>{percent(share)}</span>;
}

function Filters({
  page,
  search,
}: {
  readonly page: RunPage;
  readonly search: RefObject<HTMLInputElement | null>;
}) {
  const { query } = address.value;
  const select = (key: string, label: string, values: readonly string[]) => (
    <label class="field">
      <span>{label}</span>
      <select
        value={query.get(key) ?? ""}
        onChange={(event) => changeQuery({ [key]: event.currentTarget.value })}
      >
        <option value="">any</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {toVisible(value)}
          </option>
        ))}
      </select>
    </label>
  );
  const origin = [query.get("from") ?? "", query.get("team") ?? ""].join("/");
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Search search={search} />
      <label class="field">
        <span>from</span>
        <select value={origin} onChange={(event) => setOrigin(event.currentTarget.value)}>
          <option value="/">anywhere</option>
          <option value="train/">training</option>
          <option value="evaluation/">all evaluations</option>
          {page.teams.map((team) => (
            <option key={team} value={`evaluation/${team}`}>{`evaluation: ${toVisible(team)}`}</option>
          ))}
        </select>
      </label>
      {select("role", "role", page.roles)}
      {select("blamed", "blamed", page.roles)}
      <RangeField name="step" label="steps" />
      <RangeField name="reward" label="reward" />
      <Toggle name="failed" isOn={query.get("failed") === "true"} label="failed" />
      <Toggle name="truncated" isOn={query.get("truncated") === "true"} label="truncated" />
      <Toggle name="disagree" isOn={query.get("disagree") === "true"} label="judge disagrees" />
      <Toggle name="dropped" isOn={query.get("dropped") === "true"} label="dropped" />
      {filterQuery(query).size > 0 && (
        <a class="clear" href={linkTo(address.value.path)}>
          Clear
        </a>
      )}
    </form>
  );
}

function setOrigin(value: string): void {
  const [from = "", ...team] = value.split("/");
  changeQuery({ from, team: team.join("/") });
}

/** Waits until nothing has been typed for a moment. */
const pause = 150;

function Search({ search }: { readonly search: RefObject<HTMLInputElement | null> }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const text = address.value.query.get("text") ?? "";
  useEffect(() => {
    if (search.current !== null && search.current !== document.activeElement) search.current.value = text;
  }, [text]);
  const typed = (value: string) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => changeQuery({ text: value }), pause);
  };
  const leave = ({ key }: KeyboardEvent) => {
    if (key === "Escape" || key === "Enter") {
      search.current?.blur();
      document.querySelector<HTMLElement>(".list")?.focus();
    }
  };
  return (
    <input
      ref={search}
      type="search"
      class="search"
      placeholder="Search in prompts and replies  /"
      aria-label="Search in prompts and replies"
      defaultValue={text}
      onInput={(event) => typed(event.currentTarget.value)}
      onKeyDown={leave}
    />
  );
}

/** A bound that stands for none is not shown. */
function shown(value: string): string {
  return Math.abs(Number(value)) >= 1_000_000 ? "" : value;
}

function RangeField({ name, label }: { readonly name: "step" | "reward"; readonly label: string }) {
  const [low = "", high = ""] = (address.value.query.get(name) ?? "").split("~");
  const change = (from: string, to: string) => {
    const all = name === "step" ? ["0", "1000000000"] : ["-1000000", "1000000"];
    changeQuery({
      [name]: from === "" && to === "" ? null : `${from === "" ? all[0] : from}~${to === "" ? all[1] : to}`,
    });
  };
  const isSteps = name === "step";
  return (
    <span class="field range-field" role="group" aria-label={label}>
      <span>{label}</span>
      <input
        type="number"
        step={isSteps ? 1 : 0.1}
        value={low === "0" && isSteps ? "" : shown(low)}
        aria-label={`${label} from`}
        placeholder="from"
        onChange={(event) => change(event.currentTarget.value, shown(high))}
      />
      <input
        type="number"
        step={isSteps ? 1 : 0.1}
        value={shown(high)}
        aria-label={`${label} to`}
        placeholder="to"
        onChange={(event) => change(shown(low), event.currentTarget.value)}
      />
    </span>
  );
}
