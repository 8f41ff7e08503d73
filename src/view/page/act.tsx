/** What can be done from a state: replay it with a checkpoint's weights, or play on in a terminal. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EpisodeView, ReplayEvent, ReplayRequest, RunPage } from "../api.ts";
import { exported, pathOfRun, useAnswer } from "./data.ts";
import { Copy, figure, Lines, percent, Problem, Words } from "./text.tsx";

interface Replay {
  readonly isRunning: boolean;
  readonly events: readonly ReplayEvent[];
}

interface ActProps {
  readonly view: EpisodeView;
  readonly node: string;
  /** Which state that is, in words. */
  readonly title: string;
}

export function Act({ view, node, title }: ActProps) {
  const [samples, setSamples] = useState(8);
  const [replay, setReplay] = useState<Replay | null>(null);
  const running = useRef<AbortController | null>(null);
  const { data: page } = useAnswer<RunPage>(pathOfRun(view.run));
  const play = view.nodes.find(({ id }) => id === node)?.play;
  useEffect(() => () => running.current?.abort(), []);
  const start = async (greedy: boolean) => {
    running.current?.abort();
    const control = new AbortController();
    running.current = control;
    const events: ReplayEvent[] = [];
    const show = (isRunning: boolean) => setReplay({ isRunning, events: [...events] });
    show(true);
    const request = { episode: view.id, node, samples: greedy ? 1 : samples, ...(greedy ? { greedy } : {}) };
    try {
      for await (const event of eventsOf(view.run, request, control.signal)) {
        events.push(event);
        show(true);
      }
    } catch (error) {
      if (control.signal.aborted) return;
      events.push({ type: "problem", error: (error as Error).message });
    }
    show(false);
  };
  const cannot =
    exported !== null
      ? "An exported file cannot replay; the viewer on the machine with the run can."
      : page?.checkpoints.length === 0
        ? "The run has no checkpoint to replay with."
        : null;
  return (
    <section class="act">
      <h3>{title}</h3>
      {cannot !== null ? (
        <p class="soft">{cannot}</p>
      ) : (
        <div class="act-row">
          <button type="button" disabled={replay?.isRunning === true} onClick={() => void start(true)}>
            Replay greedily
          </button>
          <button type="button" disabled={replay?.isRunning === true} onClick={() => void start(false)}>
            Replay
          </button>
          <label class="field">
            <input
              type="number"
              min={1}
              max={64}
              value={samples}
              aria-label="Samples"
              onChange={(event) =>
                setSamples(Math.max(1, Math.min(64, Number(event.currentTarget.value) || 1)))
              }
            />
            times
          </label>
          {replay?.isRunning === true && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                running.current?.abort();
                setReplay({ ...replay, isRunning: false });
              }}
            >
              Stop
            </button>
          )}
        </div>
      )}
      {replay !== null && <Result replay={replay} from={node} />}
      {play !== undefined && (
        <>
          <p class="soft">Play on from here, in a terminal:</p>
          <Copy text={play} />
        </>
      )}
    </section>
  );
}

async function* eventsOf(
  run: string,
  request: ReplayRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplayEvent> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(pathOfRun(run, "/replay"), {
    method: "POST",
    headers,
    body: JSON.stringify(request),
    signal,
  });
  if (!response.ok || response.body === null) {
    const { error = `status ${response.status}` } = (await response.json().catch(() => ({}))) as {
      error?: string;
    };
    throw new Error(error);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = `${rest}${part.value}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as ReplayEvent;
  }
  if (rest.trim() !== "") yield JSON.parse(rest) as ReplayEvent;
}

function Result({ replay: { isRunning, events }, from }: { readonly replay: Replay; readonly from: string }) {
  const done = events.find((event) => event.type === "done");
  const loading = events.find((event) => event.type === "loading");
  return (
    <div class="replay" aria-live="polite">
      {isRunning && <p class="soft loading">{loading === undefined ? "Loading the weights…" : "Playing…"}</p>}
      {loading?.step !== undefined && loading.step !== null && (
        <p class="soft">Weights of step {loading.step}.</p>
      )}
      {done !== undefined && (
        <p>
          <b>{percent(done.success.mean)}</b> succeed, 95 % interval {percent(done.success.low)} to{" "}
          {percent(done.success.high)}; mean score {figure(done.score)}
        </p>
      )}
      {events.map((event, index) => event.type === "problem" && <Problem key={index} text={event.error} />)}
      <ol class="continuations">
        {events.map(
          (event, index) =>
            event.type === "episode" && (
              <li key={index}>
                <details>
                  <summary>
                    <span class={event.episode.success >= 1 ? "up" : "down"}>
                      {event.episode.success >= 1 ? "✓ success" : "✗ no success"}
                    </span>{" "}
                    score {figure(event.episode.score)}
                  </summary>
                  {saidAfter(event.episode, from).map(({ id, role, turn, reply }) => (
                    <p key={id}>
                      <b>
                        <Words text={role} />, turn {turn + 1}
                      </b>{" "}
                      <Words text={reply.text} most={600} />
                    </p>
                  ))}
                  <Lines name="End" text={event.episode.nodes.at(-1)?.rendered ?? ""} />
                </details>
              </li>
            ),
        )}
      </ol>
    </div>
  );
}

/** What was said after the node, in order. */
function saidAfter({ nodes, actions }: EpisodeView, from: string) {
  const start = nodes.findIndex(({ id }) => id === from);
  return nodes
    .slice(start + 1)
    .filter(({ kept }) => kept)
    .flatMap((node) => node.actions.flatMap(({ action }) => actions[action] ?? []));
}
