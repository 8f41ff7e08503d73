/** The runs that the viewer was given: open one, or choose several to compare. */
import { useState } from "preact/hooks";
import { toVisible } from "../../format.ts";
import type { RunLine } from "../api.ts";
import { go, linkTo } from "./address.ts";
import { exported, live, useAnswer } from "./data.ts";
import { useKeys } from "./keys.ts";
import { percent, Problem, Words } from "./text.tsx";
import { stateName } from "./titles.ts";

export function Runs() {
  const { data: runs, problem } = useAnswer<RunLine[]>("/api/runs");
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const count = runs?.length ?? 0;
  const focus = (index: number) => {
    setAt(index);
    document.querySelector<HTMLElement>(`[data-run="${index}"]`)?.focus();
  };
  const toggle = (run: string | undefined) => {
    if (run === undefined) return;
    setChosen(chosen.includes(run) ? chosen.filter((each) => each !== run) : [...chosen, run]);
  };
  const compare = () => {
    if (chosen.length > 1) go(linkTo(["compare"], { runs: chosen.join(",") }));
  };
  useKeys("Runs", [
    { keys: "j|ArrowDown", label: "next run", run: () => focus(Math.min(count - 1, at + 1)) },
    { keys: "k|ArrowUp", label: "previous run", run: () => focus(Math.max(0, at - 1)) },
    { keys: "Enter|o", label: "open the run", run: () => isOnBody() && openAt(runs, at) },
    { keys: "x", label: "select the run for comparison, or not", run: () => toggle(runs?.[at]?.run) },
    { keys: "c", label: "compare the selected runs (two or more)", run: compare },
  ]);
  if (problem !== undefined) return <Problem text={problem} />;
  if (runs === undefined) return <p class="empty loading">Loading…</p>;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Runs</h1>
        <button type="button" class="primary" disabled={chosen.length < 2} onClick={compare}>
          Compare {chosen.length < 2 ? "" : chosen.length}
        </button>
      </div>
      {exported?.leftOut.map((sentence) => (
        <p key={sentence} class="left-out">
          <Words text={sentence} most={2000} />
        </p>
      ))}
      {count === 0 && (
        <p class="empty">There are no runs yet. `troupe train plan-path` makes one, which appears here.</p>
      )}
      <ul class="runs">
        {runs.map((line, index) => (
          <Line
            key={line.run}
            line={line}
            index={index}
            isCurrent={index === at}
            isChosen={chosen.includes(line.run)}
            onToggle={() => toggle(line.run)}
            onPoint={() => setAt(index)}
          />
        ))}
      </ul>
    </div>
  );
}

function isOnBody(): boolean {
  return document.activeElement === document.body;
}

function openAt(runs: readonly RunLine[] | undefined, at: number): void {
  const line = runs?.[at];
  if (line !== undefined) go(linkTo(["runs", line.run]));
}

interface LineProps {
  readonly line: RunLine;
  readonly index: number;
  /** Keys act on it. */
  readonly isCurrent: boolean;
  readonly isChosen: boolean;
  readonly onToggle: () => void;
  readonly onPoint: () => void;
}

function Line({ line, index, isCurrent, isChosen, onToggle, onPoint }: LineProps) {
  const { run, recipe, environment, algorithm, seed, step, steps, success, problem } = line;
  return (
    <li class={`run-line ${isCurrent ? "is-current" : ""}`}>
      <input
        type="checkbox"
        checked={isChosen}
        onChange={onToggle}
        aria-label={`Select ${toVisible(run)} for comparison`}
      />
      <a data-run={index} href={linkTo(["runs", run])} onFocus={onPoint}>
        <span class="run-name">
          <Words text={run} />
        </span>
        <span class="soft run-what">
          <Words
            text={`${recipe} · ${algorithm} · ${environment}${seed === null ? "" : ` · seed ${seed}`}`}
          />
        </span>
        <State line={line} />
        <span class="run-steps">
          <Progress step={step} steps={steps} />
        </span>
        <span class="run-success number">
          {success === null ? (
            <span class="soft">not evaluated</span>
          ) : (
            <>
              <b>{percent(success.mean)}</b>
              <span class="soft range">
                {percent(success.low)} to {percent(success.high)}
              </span>
            </>
          )}
        </span>
      </a>
      {problem !== undefined && <Problem text={problem} />}
    </li>
  );
}

export function State({ line }: { readonly line: RunLine }) {
  const state = live.value.has(line.run) ? "training" : line.state;
  return <span class={`state is-${state}`}>{stateName({ ...line, state })}</span>;
}

export function Progress({ step, steps }: { readonly step: number; readonly steps: number | null }) {
  const share = steps === null || steps === 0 ? 0 : step / steps;
  return (
    <span class="progress">
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.min(100, 100 * share)}%` }} />
      </span>
      <span class="soft">
        step {step}
        {steps === null ? "" : ` of ${steps}`}
      </span>
    </span>
  );
}
