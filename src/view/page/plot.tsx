/** A chart that is asked for its numbers: by the pointer, or with the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { type Line, lineChart, stepChart } from "../../charts/chart.ts";
import { render } from "../../charts/markup.ts";
import { colourAt } from "../../charts/page.ts";
import type { Panel } from "./series.ts";
import { figure, percent, Words } from "./text.tsx";

const size = { width: 420, height: 230 };

interface PlotProps {
  readonly panel: Panel;
  /** The step before the first that is shown. */
  readonly first: number;
}

export function Plot({ panel, first }: PlotProps) {
  const lines = panel.lines.map(({ name, points }, index): Line => ({
    name,
    colour: colourAt(index),
    points,
  }));
  const whole = stepChart(panel.title, lines, panel.isShare, { title: "step", first });
  const drawn = panel.isShare ? { ...whole, y: { ...whole.y, ticks: whole.y.ticks.map(asPercent) } } : whole;
  const { width, height, parts, frame } = lineChart(drawn, size);
  const steps = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].toSorted(
    (a, b) => a - b,
  );
  const [at, setAt] = useState<number | null>(null);
  const picture = useRef<SVGSVGElement>(null);
  const point = (event: PointerEvent) => {
    const box = picture.current?.getBoundingClientRect();
    if (box === undefined) return;
    const across = ((event.clientX - box.left) / box.width) * width;
    const [low, high] = drawn.x.range;
    setAt(nearest(steps, low + ((across - frame.left) / (frame.right - frame.left)) * (high - low)));
  };
  const move = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const place = at === null ? (by === 1 ? -1 : steps.length) : steps.indexOf(at);
    setAt(steps[Math.max(0, Math.min(steps.length - 1, place + by))] ?? null);
  };
  return (
    <div
      class="card plot"
      tabIndex={0}
      role="group"
      aria-label={`${drawn.spoken}; arrow keys read its numbers`}
      onKeyDown={move}
      onBlur={() => setAt(null)}
      onPointerMove={point}
      onPointerLeave={() => setAt(null)}
    >
      <div class="plot-head">
        <h2>
          <Words text={panel.title} />
        </h2>
        <span class="soft">{panel.note}</span>
      </div>
      <svg ref={picture} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={drawn.spoken}>
        <g dangerouslySetInnerHTML={{ __html: render(parts) }} />
        {at !== null && (
          <line class="cursor" x1={frame.x(at)} x2={frame.x(at)} y1={frame.top} y2={frame.bottom} />
        )}
      </svg>
      <div class="plot-readout" aria-live="polite">
        {at !== null && <Readout panel={panel} at={at} />}
      </div>
    </div>
  );
}

function asPercent({ at }: { readonly at: number }) {
  return { at, label: `${Math.round(100 * at)} %` };
}

/** Null: there is no step. */
function nearest(steps: readonly number[], x: number): number | null {
  return steps.reduce<number | null>(
    (best, each) => (best === null || Math.abs(each - x) < Math.abs(best - x) ? each : best),
    null,
  );
}

/** What each line has at a step. */
function Readout({ panel, at }: { readonly panel: Panel; readonly at: number }) {
  const show = panel.isShare ? percent : figure;
  return (
    <>
      <p class="soft">step {at}</p>
      {panel.lines.map(({ name, points }, index) => {
        const here = points.find(({ x }) => x === at);
        if (here === undefined) return null;
        return (
          <p key={name} class={colourAt(index)}>
            <span class="dot-mark" />
            <span class="readout-name">
              <Words text={name} most={60} />
            </span>{" "}
            <b>{show(here.y)}</b>
            {here.interval !== undefined && (
              <span class="soft">
                {" "}
                {show(here.interval.low)} to {show(here.interval.high)}
              </span>
            )}
          </p>
        );
      })}
    </>
  );
}
