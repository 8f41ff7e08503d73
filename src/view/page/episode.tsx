/** One episode: its task, and the grid or the board. */
import type { EpisodeView } from "../api.ts";
import { address, changeQuery, filterQuery, go, linkTo } from "./address.ts";
import { Board } from "./board.tsx";
import { pathOfRun, useAnswer } from "./data.ts";
import { Success } from "./episodes.tsx";
import { Grid } from "./grid.tsx";
import { useKeys } from "./keys.ts";
import { figure, Lines, Problem, Words } from "./text.tsx";
import { titleOf } from "./titles.ts";

const show = (board: boolean) => changeQuery({ view: board ? "board" : null });

export function Episode({ run, id }: { readonly run: string; readonly id: string }) {
  const { query } = address.value;
  const filter = filterQuery(query);
  const search = new URLSearchParams(filter);
  search.set("id", id);
  const { data: view, problem } = useAnswer<EpisodeView>(pathOfRun(run, `/episode?${search.toString()}`));
  const isBoard = query.get("view") === "board";
  const link = (other: string | null | undefined) => {
    if (other === null || other === undefined) return undefined;
    const to = new URLSearchParams(filter);
    if (isBoard) to.set("view", "board");
    return linkTo(["runs", run, "episode", other], to);
  };
  const to = (other: string | null | undefined) => () => {
    const target = link(other);
    if (target !== undefined) go(target);
  };
  useKeys("Episode", [
    { keys: "n", label: "older episode in the list", run: to(view?.older) },
    { keys: "p", label: "newer episode in the list", run: to(view?.newer) },
    { keys: "b", label: "show the board", run: () => show(true) },
    { keys: "v", label: "show the grid", run: () => show(false) },
    { keys: "u", label: "back to the list", run: () => go(linkTo(["runs", run, "episodes"], filter)) },
  ]);
  if (problem !== undefined) return <Problem text={problem} />;
  if (view === undefined) return <p class="empty loading">Loading…</p>;
  return (
    <div class="episode">
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
          <Neighbour link={link(view.newer)} label="↑ newer" />
          <Neighbour link={link(view.older)} label="↓ older" />
        </nav>
      </div>
      {view.problems?.map((each) => (
        <Problem key={each} text={each} />
      ))}
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

function Facts({ view }: { readonly view: EpisodeView }) {
  const { id, team, success, score } = view;
  const title = titleOf(view);
  return (
    <>
      <h1>
        <Words text={title} />
      </h1>
      <span class="facts-line">
        <Success share={success} />
        <span class="soft">score {figure(score)}</span>
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
