/** Curves of a run, or of several runs with the differences of their recipes. */
import { useEffect, useState } from "preact/hooks";
import type { Curves, RecipeDifference, RunLine } from "../api.ts";
import { address, changeQuery } from "./address.ts";
import { ask, pathOfRun, useAnswer } from "./data.ts";
import { Plot } from "./plot.tsx";
import { panelsOf, warmSteps, type Shown } from "./series.ts";
import { Problem, Words } from "./text.tsx";

export function CurvesOf({ runs }: { readonly runs: readonly RunLine[] }) {
  const { query } = address.value;
  const [isMean, isWhole] = [query.get("mean") === "true", query.get("warm") === "true"];
  const { shown, problem } = useCurves(runs);
  if (problem !== null) return <Problem text={problem} />;
  if (shown === null) return <p class="empty loading">Loading…</p>;
  const hasWarm = shown.some(({ curves }) => curves.stages.includes("warm-start"));
  const onlyWarm = shown.every(({ curves }) => !curves.stages.includes("reinforcement"));
  const showsWarm = isWhole || onlyWarm;
  const panels = panelsOf(shown, { isMean, isWhole: showsWarm });
  const first = showsWarm ? 0 : Math.min(...shown.map(({ curves }) => warmSteps(curves)));
  const hasSeeds = new Set(runs.map(({ training }) => training)).size < runs.length;
  return (
    <section aria-label="Curves">
      <div class="curve-settings">
        {hasSeeds && <Toggle name="mean" isOn={isMean} label="Mean over seeds" />}
        {hasWarm && !onlyWarm && <Toggle name="warm" isOn={isWhole} label="With the warm start" />}
      </div>
      {panels.length === 0 && <p class="empty">No step has been recorded yet.</p>}
      <div class="plots">
        {panels.map((panel) => (
          <Plot key={panel.title} panel={panel} first={first} />
        ))}
      </div>
    </section>
  );
}

interface ToggleProps {
  /** In the address. */
  readonly name: string;
  readonly isOn: boolean;
  readonly label: string;
}

export function Toggle({ name, isOn, label }: ToggleProps) {
  const change = () => changeQuery({ [name]: isOn ? null : "true" });
  return (
    <button type="button" class="chip-button" aria-pressed={isOn} onClick={change}>
      {label}
    </button>
  );
}

/** Curves of all runs; the earlier ones stay while newer ones are loading. */
function useCurves(runs: readonly RunLine[]): {
  readonly shown: readonly Shown[] | null;
  readonly problem: string | null;
} {
  const [shown, setShown] = useState<readonly Shown[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  // Asked again whenever a run has changed, since the first one's answer then is another object.
  const first = useAnswer<Curves>(pathOfRun(runs[0]?.run ?? "", "/curves"));
  const key = JSON.stringify(runs.map(({ run, step }) => [run, step]));
  useEffect(() => {
    // All curves are drawn at once, when the last ones have come.
    if (first.data === undefined && first.problem === undefined) return undefined;
    let isCurrent = true;
    const load = async (line: RunLine) => ({
      line,
      curves: await ask<Curves>(pathOfRun(line.run, "/curves")),
    });
    const show = (all: readonly Shown[] | null, wrong: string | null) => {
      if (!isCurrent) return;
      setProblem(wrong);
      if (all !== null) setShown(all);
    };
    Promise.all(runs.map(load)).then(
      (all) => show(all, null),
      (error: unknown) => show(null, (error as Error).message),
    );
    return () => (isCurrent = false);
  }, [key, first.data, first.problem]);
  return { shown, problem };
}

export function Compare() {
  const names = (address.value.query.get("runs") ?? "").split(",").filter((name) => name !== "");
  const { data: all, problem } = useAnswer<RunLine[]>("/api/runs");
  if (problem !== undefined) return <Problem text={problem} />;
  if (all === undefined) return <p class="empty loading">Loading…</p>;
  const runs = names.flatMap((name) => all.find(({ run }) => run === name) ?? []);
  const missing = names.filter((name) => !runs.some(({ run }) => run === name));
  return (
    <div class="page">
      <div class="page-head">
        <h1>Compare</h1>
      </div>
      {missing.map((name) => (
        <Problem key={name} text={`There is no run ${name}.`} />
      ))}
      {runs.length === 0 ? (
        <p class="empty">Select two or more in the list of runs with x, then press c.</p>
      ) : (
        <>
          {missing.length === 0 && <Recipes runs={runs} />}
          <CurvesOf runs={runs} />
        </>
      )}
    </div>
  );
}

function Recipes({ runs }: { readonly runs: readonly RunLine[] }) {
  const query = new URLSearchParams({ runs: runs.map(({ run }) => run).join(",") });
  const { data: differences, problem } = useAnswer<RecipeDifference[]>(`/api/compare?${query.toString()}`);
  if (problem !== undefined) return <Problem text={problem} />;
  return (
    <section class="card differences-card" aria-label="Differences of the recipes">
      <h2>Differences of the recipes</h2>
      {differences === undefined && <p class="soft loading">Loading…</p>}
      {differences?.length === 0 && <p class="soft">None: the recipes are the same.</p>}
      {differences !== undefined && differences.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of differences">
          <table>
            <thead>
              <tr>
                <th scope="col">Key</th>
                {runs.map(({ run }) => (
                  <th key={run} scope="col">
                    <Words text={run} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {differences.map(({ key, values }) => (
                <tr key={key}>
                  <th scope="row">
                    <Words text={key} />
                  </th>
                  {values.map((value, index) => (
                    <td key={index}>
                      {value === null ? <span class="soft">absent</span> : <Words text={value} />}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
