/** What can be done from a state: continue it with a checkpoint's weights, or take a role there in a terminal. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { EpisodeView, ContinueEvent, ContinueRequest, RunPage } from "../api.ts";
import { exported, pathOfRun, useAnswer } from "./data.ts";
import { Copy, figure, Lines, percent, Problem, Words } from "./text.tsx";
import { saidAfter } from "./trajectory.ts";

interface ActProps {
  readonly view: EpisodeView;
  readonly node: string;
  /** Which state that is, in words. */
  readonly from: string;
}

export function Act({ view, node, from }: ActProps) {
  const place = view.nodes.find(({ id }) => id === node);
  const { data: page } = useAnswer<RunPage>(pathOfRun(view.run));
  if (place?.done === true) return null;
  const cannot =
    exported !== null
      ? "This is an exported file. To continue from here, open the run in `troupe view`."
      : page?.checkpoints.length === 0
        ? "There is no checkpoint to play with yet."
        : null;
  return (
    <section class="act">
      <h3>Continue from here</h3>
      <p class="soft">
        Plays on from {from} to the end of the episode, with the weights of the newest checkpoint: sampled at
        the temperature of evaluations (of training, if that is 0), or greedily, which takes the most probable
        token each time. No judge is asked, and nothing is recorded or trained.
      </p>
      {cannot === null ? <Continue run={view.run} episode={view.id} node={node} /> : <p>{cannot}</p>}
      {place?.play !== undefined && (
        <>
          <h3>Play from here</h3>
          <p class="soft">Take a role yourself, in a terminal:</p>
          <Copy text={place.play} />
        </>
      )}
    </section>
  );
}

function Continue({ run, ...place }: Pick<ContinueRequest, "episode" | "node"> & { readonly run: string }) {
  const [samples, setSamples] = useState(8);
  const { shown, start, stop } = useContinuations(run);
  const isRunning = shown?.isRunning === true;
  return (
    <>
      <div class="act-row">
        <button
          type="button"
          disabled={isRunning}
          onClick={() => void start({ ...place, samples: 1, greedy: true })}
        >
          Continue greedily
        </button>
        <button type="button" disabled={isRunning} onClick={() => void start({ ...place, samples })}>
          Continue
        </button>
        <label class="field">
          <input
            type="number"
            min={1}
            max={64}
            value={samples}
            aria-label="Samples"
            onChange={({ currentTarget: { value } }) =>
              setSamples(Math.max(1, Math.min(64, Math.round(Number(value)) || 1)))
            }
          />
          {samples === 1 ? "time" : "times"}
        </label>
        {isRunning && (
          <button type="button" class="quiet" onClick={stop}>
            Stop
          </button>
        )}
      </div>
      {shown !== null && <Result continuations={shown} from={place.node} />}
    </>
  );
}

interface Continuations {
  readonly isRunning: boolean;
  readonly events: readonly ContinueEvent[];
}

/** Those that were asked for last. Asking for others, and leaving the view, stops them. */
function useContinuations(run: string) {
  const [shown, setShown] = useState<Continuations | null>(null);
  const running = useRef<AbortController | null>(null);
  const stop = () => running.current?.abort();
  useEffect(() => stop, []);
  const start = async (request: ContinueRequest) => {
    stop();
    const control = new AbortController();
    running.current = control;
    const events: ContinueEvent[] = [];
    const show = (isRunning: boolean) =>
      running.current === control && setShown({ isRunning, events: [...events] });
    show(true);
    try {
      for await (const event of eventsOf(run, request, control.signal)) {
        events.push(event);
        show(true);
      }
    } catch (error) {
      if (!control.signal.aborted) events.push({ type: "problem", error: (error as Error).message });
    }
    show(false);
  };
  return { shown, start, stop };
}

async function* eventsOf(
  run: string,
  request: ContinueRequest,
  signal: AbortSignal,
): AsyncGenerator<ContinueEvent> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(pathOfRun(run, "/continue"), {
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
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as ContinueEvent;
  }
  if (rest.trim() !== "") yield JSON.parse(rest) as ContinueEvent;
}

interface ResultProps {
  readonly continuations: Continuations;
  readonly from: string;
}

function Result({ continuations: { isRunning, events }, from }: ResultProps) {
  const done = events.find((event) => event.type === "done");
  const playing = events.find((event) => event.type === "playing");
  return (
    <div class="continuations" aria-live="polite">
      {isRunning && <p class="soft loading">{playing === undefined ? "Loading the weights…" : "Playing…"}</p>}
      {playing !== undefined && (
        <p class="soft">
          {playing.step === null
            ? "Played with the untrained weights"
            : `Played with the weights from step ${playing.step}`}
          {playing.temperature === 0 ? ", greedily." : `, sampled at temperature ${playing.temperature}.`}
        </p>
      )}
      {done !== undefined && (
        <p>
          <b>
            {done.successes} of {done.ends}
          </b>{" "}
          succeed
          {done.interval !== undefined &&
            ` (95 % interval ${percent(done.interval.low)} to ${percent(done.interval.high)})`}
          ; mean score {figure(done.score)}
        </p>
      )}
      {events.map((event, index) => event.type === "problem" && <Problem key={index} text={event.error} />)}
      <ol>
        {events.map(
          (event, index) =>
            event.type === "episode" && (
              <li key={index}>
                <Continuation episode={event.episode} from={from} />
              </li>
            ),
        )}
      </ol>
    </div>
  );
}

function Continuation({ episode, from }: { readonly episode: EpisodeView; readonly from: string }) {
  const isSuccess = episode.success >= 1;
  return (
    <details>
      <summary>
        <span class={isSuccess ? "up" : "down"}>{isSuccess ? "✓ success" : "✗ no success"}</span> score{" "}
        {figure(episode.score)}
      </summary>
      {saidAfter(episode, from).map(({ id, role, turn, reply }) => (
        <p key={id}>
          <b>
            <Words text={role} />, turn {turn + 1}
          </b>{" "}
          <Words text={reply.text} most={600} />
        </p>
      ))}
      <Lines name="End" text={episode.nodes.at(-1)?.rendered ?? ""} />
    </details>
  );
}
