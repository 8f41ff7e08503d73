/** One episode: its task, and the grid or the board. */
import type { EpisodeView } from "../api.ts";
import { address, changeQuery, filterQuery, go, linkTo } from "./address.ts";
import { Board } from "./board.tsx";
import { pathOfRun, useAnswer, useUntilExact } from "./data.ts";
import { Success } from "./episodes.tsx";
import { Grid } from "./grid.tsx";
import { useKeys } from "./keys.ts";
import { figure, Lines, Problem, Words } from "./text.tsx";
import { titleOf } from "./titles.ts";

const show = (board: boolean) => changeQuery({ view: board ? "board" : null });

export function Episode({ run, id }: { readonly run: string; readonly id: string }) {
  const { query } = address.value;
  const search = filterQuery(query);
  search.set("id", id);
  const path = pathOfRun(run, `/episode?${search.toString()}`);
  const answer = useAnswer<EpisodeView>(path);
  useUntilExact(run, path, answer);
  const { data: view, problem } = answer;
  const isBoard = query.get("view") === "board";
  useEpisodeKeys(run, view);
  if (problem !== undefined) return <Problem text={problem} />;
  if (view === undefined) return <p class="empty loading">Loading…</p>;
  return (
    <div class="episode">
      <EpisodeHead run={run} view={view} isBoard={isBoard} />
      {view.ends.map(
        (end) =>
          end.problem !== undefined && (
            <Problem key={end.node} text={`The program went wrong: ${end.problem}`} />
          ),
      )}
      {!isBoard && (
        <details class="task">
          <summary>Task</summary>
          <Lines name="Task" text={view.taskText} />
        </details>
      )}
      {isBoard ? <Board view={view} /> : <Grid view={view} />}
    </div>
  );
}

function useEpisodeKeys(run: string, view: EpisodeView | undefined): void {
  const open = (other: string | null | undefined) => () => {
    const link = linkOf(run, other);
    if (link !== undefined) go(link);
  };
  useKeys("Episode", [
    { keys: "n", label: "older episode in the list", run: open(view?.older) },
    { keys: "p", label: "newer episode in the list", run: open(view?.newer) },
    { keys: "b", label: "show the board", run: () => show(true) },
    { keys: "v", label: "show the grid", run: () => show(false) },
    { keys: "u", label: "back to the list", run: () => go(linkToList(run)) },
  ]);
}

function linkToList(run: string): string {
  return linkTo(["runs", run, "episodes"], filterQuery(address.value.query));
}

/** Another episode of the list, shown as this one is: as a grid or as a board. */
function linkOf(run: string, other: string | null | undefined): string | undefined {
  if (other === null || other === undefined) return undefined;
  const { query } = address.value;
  const to = filterQuery(query);
  if (query.get("view") === "board") to.set("view", "board");
  return linkTo(["runs", run, "episode", other], to);
}

interface EpisodeHeadProps {
  readonly run: string;
  readonly view: EpisodeView;
  readonly isBoard: boolean;
}

function EpisodeHead({ run, view, isBoard }: EpisodeHeadProps) {
  return (
    <div class="episode-head">
      <Facts view={view} />
      <nav class="tabs" aria-label="Views of the episode">
        <button type="button" aria-pressed={!isBoard} onClick={() => show(false)}>
          Grid
        </button>
        <button type="button" aria-pressed={isBoard} onClick={() => show(true)}>
          Board
        </button>
      </nav>
      <nav class="neighbours" aria-label="Neighbours in the list">
        <Neighbour link={linkOf(run, view.newer)} label="↑ newer" />
        <Neighbour link={linkOf(run, view.older)} label="↓ older" />
      </nav>
    </div>
  );
}

function Facts({ view }: { readonly view: EpisodeView }) {
  const { id, team, success, score, branched, ends } = view;
  const title = titleOf(view);
  return (
    <>
      <h1>
        <Words text={title} />
      </h1>
      <span class="facts-line">
        <Success share={success} />
        <span class="soft">score {figure(score)}</span>
        {branched === true && (
          <span class="soft">
            {ends.filter((end) => end.success).length} of {ends.length} branches succeed
          </span>
        )}
        {team !== null && (
          <span class="soft">
            evaluation: <Words text={team} />
          </span>
        )}
        {title !== id && (
          <code class="soft" title="The episode's id, for commands">
            {id}
          </code>
        )}
      </span>
    </>
  );
}

function Neighbour({ link, label }: { readonly link: string | undefined; readonly label: string }) {
  return link === undefined ? <span class="soft is-absent">{label}</span> : <a href={link}>{label}</a>;
}
