/** The states of a trajectory one after the other, as pictures or text, with what was said and done in between. */
import { useEffect, useState } from "preact/hooks";
import type { ActionLine, EdgeView, EpisodeView, NodeView } from "../api.ts";
import { Evidence } from "./action.tsx";
import { Act } from "./act.tsx";
import { address, changeQuery, linkTo } from "./address.ts";
import { useKeys } from "./keys.ts";
import { figure, Lines, signed, Words } from "./text.tsx";
import { pathTo } from "./trajectory.ts";

/** Milliseconds of each state. */
const pace = 900;

export function Board({ view }: { readonly view: EpisodeView }) {
  const { query } = address.value;
  const end = view.ends.find(({ node }) => node === query.get("end")) ?? view.ends[0];
  const frames = pathTo(view, end?.node ?? view.nodes.at(-1)?.id ?? "");
  const at = Math.max(0, query.has("node") ? frames.findIndex(({ id }) => id === query.get("node")) : 0);
  const frame = frames[at];
  const isLast = at >= frames.length - 1;
  if (frame === undefined) return <p class="empty">The episode has no state.</p>;
  return (
    <div class="split is-board">
      <div class="pane board-pane">
        <Player view={view} end={end?.node} frames={frames} at={at} />
        <p class="soft frame-name" aria-live="polite">
          {frame.done || isLast ? "End" : `Turn ${frame.turn + 1}`}
          {frame.score === undefined ? "" : `, score ${figure(frame.score)}`}
        </p>
        <Picture node={frame} />
      </div>
      <aside class="pane details" aria-label="What led to this state">
        {frame.actions.length === 0 ? (
          <>
            <h2>The task</h2>
            <Lines name="Task" text={view.taskText} />
          </>
        ) : (
          frame.actions.map((edge) => (
            <Step key={edge.action} edge={edge} action={view.actions[edge.action]} view={view} />
          ))
        )}
        <Act key={frame.id} view={view} node={frame.id} from="this state" />
      </aside>
    </div>
  );
}

interface PlayerProps {
  readonly view: EpisodeView;
  /** The node at which the trajectory that is shown ends. */
  readonly end: string | undefined;
  readonly frames: readonly NodeView[];
  readonly at: number;
}

function Player({ view, end, frames, at }: PlayerProps) {
  const last = frames.length - 1;
  const { isPlaying, play, show } = usePlayer(frames, at);
  const step = (place: number) => () => show(place);
  useKeys("Board", [
    { keys: "ArrowRight|j|ArrowDown", label: "next state", run: step(at + 1) },
    { keys: "ArrowLeft|k|ArrowUp", label: "previous state", run: step(at - 1) },
    { keys: "Home", label: "first state", run: step(0) },
    { keys: "End", label: "last state", run: step(last) },
    {
      keys: " ",
      label: "play or pause",
      run: () => !(document.activeElement instanceof HTMLButtonElement) && play(),
    },
  ]);
  return (
    <div class="player">
      <button type="button" onClick={step(at - 1)} disabled={at === 0} aria-label="Previous state">
        ←
      </button>
      <button type="button" onClick={play} aria-label={isPlaying ? "Pause" : "Play"}>
        {isPlaying ? "❚❚" : "▶"}
      </button>
      <button type="button" onClick={step(at + 1)} disabled={at >= last} aria-label="Next state">
        →
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={at}
        aria-label="State"
        aria-valuetext={`state ${at + 1} of ${frames.length}`}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <span class="soft place">
        {at + 1} of {frames.length}
      </span>
      {view.ends.length > 1 && <TrajectoryChoice ends={view.ends} chosen={end} />}
    </div>
  );
}

interface TrajectoryChoiceProps extends Pick<EpisodeView, "ends"> {
  readonly chosen: string | undefined;
}

function TrajectoryChoice({ ends, chosen }: TrajectoryChoiceProps) {
  return (
    <label class="field">
      trajectory
      <select
        value={chosen ?? ""}
        onChange={(event) => changeQuery({ end: event.currentTarget.value, node: null })}
      >
        {ends.map(({ node, success, score }, index) => (
          <option key={node} value={node}>
            {`${index + 1}: ${success ? "success" : "no success"}, score ${figure(score)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Shows one state after the other until the last, or until somebody goes to another. */
function usePlayer(frames: readonly NodeView[], at: number) {
  const [isPlaying, setPlaying] = useState(false);
  const last = frames.length - 1;
  const go = (place: number) => {
    const node = frames[Math.max(0, Math.min(last, place))];
    if (node !== undefined) changeQuery({ node: node.id === "" ? null : node.id });
  };
  useEffect(() => {
    if (!isPlaying) return undefined;
    if (at >= last) {
      setPlaying(false);
      return undefined;
    }
    const timer = setTimeout(() => go(at + 1), pace);
    return () => clearTimeout(timer);
  }, [isPlaying, at]);
  const play = () => {
    if (at >= last && !isPlaying) go(0);
    setPlaying(!isPlaying);
  };
  const show = (place: number) => {
    setPlaying(false);
    go(place);
  };
  return { isPlaying, play, show };
}

/** The drawing is Troupe's own, in which text is escaped; the page's policy runs no script in it either. */
function Picture({ node: { drawing, rendered } }: { readonly node: NodeView }) {
  return (
    <>
      {drawing !== undefined && <div class="drawing" dangerouslySetInnerHTML={{ __html: drawing }} />}
      {drawing === undefined ? (
        <Lines name="State" text={rendered} />
      ) : (
        <details class="as-text">
          <summary>As text</summary>
          <Lines name="State" text={rendered} />
        </details>
      )}
    </>
  );
}

interface StepProps {
  readonly edge: EdgeView;
  readonly action: ActionLine | undefined;
  readonly view: EpisodeView;
}

function Step({ edge, action, view }: StepProps) {
  if (action === undefined) return null;
  const link = linkTo(["runs", view.run, "episode", view.id], { action: action.id });
  return (
    <section class="step">
      <h2>
        <Words text={action.role} />
        <span class="soft">, turn {action.turn + 1}</span>
        <a class="to-grid" href={link}>
          tokens and siblings
        </a>
      </h2>
      {action.reply.thinking !== undefined && (
        <details class="section">
          <summary>
            <h3>Thinking</h3>
          </summary>
          <Lines name="Thinking" text={action.reply.thinking} />
        </details>
      )}
      <Lines name="Reply" text={action.reply.text} />
      {(action.reply.calls ?? []).map((call, index) => (
        <Lines key={index} name="Call" text={`${call.name} ${JSON.stringify(call.arguments, null, 2)}`} />
      ))}
      <p class="parts">
        team {figure(edge.team)}, local {figure(edge.local)}
        {edge.judge === null ? "" : `, judge ${figure(edge.judge)}`}, advantage {signed(action.advantage)}
      </p>
      {edge.reason !== undefined && (
        <p class="reason">
          <Words text={edge.reason} most={2000} />
        </p>
      )}
      {edge.evidence !== undefined && <Evidence evidence={edge.evidence} run={view.run} />}
    </section>
  );
}
