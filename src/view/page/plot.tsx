/** A chart that is asked for its numbers: by the pointer, or with the arrow keys. */
import { useRef, useState } from "preact/hooks";
import { type Frame, type Line, lineChart, stepChart } from "../../charts/chart.ts";
import { render } from "../../charts/markup.ts";
import { colourAt } from "../../charts/page.ts";
import { placeBeside } from "./keys.ts";
import { nearest, type Panel } from "./series.ts";
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
  const { at, picture, events } = usePlace(steps, frame, drawn.x.range);
  return (
    <div
      class="card plot"
      tabIndex={0}
      role="group"
      aria-label={`${drawn.spoken}; arrow keys read its numbers`}
      {...events}
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

/** The step whose numbers are shown: that nearest to the pointer, or that which the arrow keys chose. Null: none. */
function usePlace(steps: readonly number[], frame: Frame, [low, high]: readonly [number, number]) {
  const [at, setAt] = useState<number | null>(null);
  const picture = useRef<SVGSVGElement>(null);
  const leave = () => setAt(null);
  const events = {
    onKeyDown: (event: KeyboardEvent) => {
      const place = placeBeside(event, at === null ? null : steps.indexOf(at), steps.length);
      if (place !== undefined) setAt(steps[place] ?? null);
    },
    onBlur: leave,
    onPointerMove: ({ clientX }: PointerEvent) => {
      const box = picture.current?.getBoundingClientRect();
      if (box === undefined) return;
      const across = ((clientX - box.left) / box.width) * size.width;
      const share = (across - frame.left) / (frame.right - frame.left);
      setAt(nearest(steps, low + share * (high - low)));
    },
    onPointerLeave: leave,
  };
  return { at, picture, events };
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
