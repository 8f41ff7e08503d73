/** Which curves there are, and their points: of a run, of several runs, or of the mean over runs of one recipe. */
import type { Point } from "../../charts/chart.ts";
import { mean, meanInterval } from "../../statistics.ts";
import type { Curves, RunLine } from "../api.ts";

/** A chart with a line for each run, or for each role or policy of one run. */
export interface Panel {
  readonly title: string;
  readonly note?: string;
  readonly isShare: boolean;
  readonly lines: readonly {
    readonly name: string;
    readonly points: readonly Point[];
    /** That a point is the mean of, up to its own. */
    readonly steps: number;
  }[];
}

interface Kind {
  readonly title: string;
  /** Of a column's name; the group is the role or the policy. */
  readonly of: RegExp;
  readonly note?: string;
  readonly isShare?: true;
  /** It may be below zero. */
  readonly isSigned?: true;
  /** Of all steps so far: neighbours are no average. */
  readonly isTotal?: true;
}

/** A figure of each role in the records of steps. Terms of its local reward, which anybody may name, are none. */
function ofRole(figure: string): RegExp {
  return new RegExp(`^rollout\\.roles\\.((?!.*\\.parts\\.).+)\\.${figure}$`);
}

export const kinds: readonly Kind[] = [
  {
    title: "Success in training",
    of: /^rollout\.success()$/,
    isShare: true,
    note: "share of kept trajectories",
  },
  { title: "Team reward", of: ofRole("team"), isSigned: true },
  { title: "Local reward", of: ofRole("local"), isSigned: true },
  { title: "Entropy of roles", of: ofRole("entropy"), note: "nats per token" },
  { title: "Entropy of policies", of: /^policies\.(.+)\.entropy$/, note: "nats per token" },
  { title: "KL to the sampling policy", of: /^policies\.(.+)\.kl$/, note: "nats per token" },
  { title: "KL to the reference", of: /^policies\.(.+)\.referenceKl$/, note: "nats per token" },
  { title: "Clipped tokens", of: /^policies\.(.+)\.clipShare$/, isShare: true, note: "share of tokens" },
  { title: "Zero-variance groups", of: /^rollout\.flatGroups()$/, isShare: true, note: "share of groups" },
  {
    title: "Zero-variance groups of roles",
    of: ofRole("flatGroups"),
    isShare: true,
    note: "share of groups",
  },
  { title: "Share of the advantages", of: ofRole("advantageShare"), isShare: true },
  { title: "Spread of advantages", of: ofRole("advantageSpread") },
  { title: "Gradient norm", of: /^policies\.(.+)\.gradientNorm$/, note: "before clipping" },
  { title: "Length", of: ofRole("length"), note: "tokens per action" },
  { title: "Truncated replies", of: ofRole("truncated"), isShare: true, note: "share of actions" },
  { title: "Turns", of: /^rollout\.turns()$/ },
  { title: "Influence", of: ofRole("influence"), note: "nats per token of the next role's replies" },
  { title: "Tokens per second", of: /^tokensPerSecond()$/, note: "while sampling" },
  { title: "Seconds per step", of: /^seconds()$/ },
  { title: "Cost: hours", of: /^hours()$/, isTotal: true, note: "so far, with evaluations" },
  {
    title: "Cost: tokens",
    of: /^rollout\.sampledSoFar()$/,
    isTotal: true,
    note: "sampled in training so far",
  },
  {
    title: "Cost: tokens of the coach",
    of: /^coachTokens()$/,
    isTotal: true,
    note: "so far, with evaluations",
  },
  {
    title: "Cost: dollars of the coach",
    of: /^coachDollars()$/,
    isTotal: true,
    note: "so far, at list prices",
  },
];

export interface Shown {
  readonly line: RunLine;
  readonly curves: Curves;
}

export interface Settings {
  /** Runs that differ in their seed alone become one line. */
  readonly isMean: boolean;
  /** The warm start is shown, too. */
  readonly isWhole: boolean;
}

export function panelsOf(runs: readonly Shown[], settings: Settings): Panel[] {
  const groups = groupsOf(runs, settings.isMean);
  const columns = [...new Set(runs.flatMap((run) => Object.keys(columnsOf(run.curves))))];
  const evaluated = [...new Set(runs.flatMap(({ curves }) => curves.evaluations.map(({ team }) => team)))];
  const success: Panel[] = chartsOf("Success", groups, evaluated, (run, team) =>
    evaluations(run, team, settings),
  ).map((panel) => inRange({ ...panel, isShare: true, note: `${tasksIn(runs)}held-out, 95 % interval` }));
  const figures = kinds.flatMap(({ title, of, note, isShare = false, isSigned, isTotal }): Panel[] => {
    const matching = columns.filter((name) => of.test(name));
    const named = new Map(matching.map((name) => [of.exec(name)?.[1] ?? "", name]));
    const charts = chartsOf(
      title,
      groups,
      [...named.keys()],
      (run, part) => figuresOf(run, named.get(part) ?? "", settings),
      isTotal,
    );
    return charts.map((panel) =>
      inRange({ ...panel, isShare, ...(note === undefined ? {} : { note }) }, isSigned),
    );
  });
  return [...success, ...figures].filter(({ lines }) => lines.length > 0).map(withSteps);
}

/** Evaluations of a team are of the same tasks: `100 tasks, `. Empty: those of teams or runs differ. */
function tasksIn(runs: readonly Shown[]): string {
  const [tasks, ...others] = new Set(
    runs.flatMap(({ curves }) => curves.evaluations.map((one) => one.tasks)),
  );
  return tasks === undefined || others.length > 0 ? "" : `${tasks} tasks, `;
}

/** The interval of a mean over few seeds may reach beyond what the figure can be. */
function inRange(panel: Panel, isSigned = false): Panel {
  if (isSigned) return panel;
  const most = panel.isShare ? 1 : Infinity;
  const within = ({ interval, ...point }: Point): Point =>
    interval === undefined
      ? point
      : { ...point, interval: { low: Math.max(0, interval.low), high: Math.min(most, interval.high) } };
  return { ...panel, lines: panel.lines.map((line) => ({ ...line, points: line.points.map(within) })) };
}

/** A point of a long run is no step's own figure. */
function withSteps(panel: Panel): Panel {
  const steps = Math.max(...panel.lines.map((line) => line.steps));
  if (steps === 1) return panel;
  const said = `each point the mean of ${steps} steps`;
  return { ...panel, note: panel.note === undefined ? said : `${panel.note}; ${said}` };
}

type Group = { readonly name: string; readonly runs: readonly Shown[] };

function groupsOf(runs: readonly Shown[], isMean: boolean): Group[] {
  if (!isMean) return runs.map((run) => ({ name: run.line.run, runs: [run] }));
  return [...Map.groupBy(runs, ({ line }) => line.training).values()].map((of) => ({
    name: of.length === 1 ? (of[0]?.line.run ?? "") : `${of[0]?.line.run}, mean of ${of.length} seeds`,
    runs: of,
  }));
}

/** One chart for the parts of one run; a chart of its own for each part if there are several lines. */
function chartsOf(
  title: string,
  groups: readonly Group[],
  parts: readonly string[],
  pointsOf: (run: Shown, part: string) => readonly Point[],
  isTotal = false,
): Omit<Panel, "isShare">[] {
  const lineOf = (name: string, group: Group, part: string) => {
    const own = group.runs.map((run) => pointsOf(run, part)).filter((each) => each.length > 0);
    const points = averaged(own);
    const all = group.runs.length;
    const shown = own.length === all ? name : `${name} (${own.length} have it)`;
    return points.length === 0
      ? []
      : [{ name: shown, points: thinned(points, isTotal), steps: isTotal ? 1 : stepsOf(points) }];
  };
  const [only] = groups;
  if (only !== undefined && groups.length === 1 && only.runs.length === 1)
    return [{ title, lines: parts.flatMap((part) => lineOf(part === "" ? title : part, only, part)) }];
  return parts.map((part) => ({
    title: part === "" ? title : `${title}: ${part}`,
    lines: groups.flatMap((group) => lineOf(group.name, group, part)),
  }));
}

function columnsOf({ columns, timed }: Curves): Curves["columns"] {
  return { ...columns, ...timed };
}

function figuresOf({ curves }: Shown, column: string, { isWhole }: Settings): Point[] {
  const values = columnsOf(curves)[column] ?? [];
  return values.flatMap((y, index) => {
    const x = curves.steps[index];
    const isShown = isWhole || curves.stages[index] === "reinforcement";
    return y === null || x === undefined || !isShown ? [] : [{ x, y }];
  });
}

function evaluations({ curves }: Shown, wanted: string, { isWhole }: Settings): Point[] {
  const first = isWhole ? 0 : warmSteps(curves);
  return curves.evaluations
    .filter(({ team, step }) => team === wanted && step >= first)
    .map(({ step, success, low, high }) => ({ x: step, y: success, interval: { low, high } }));
}

/** Steps of the warm start, which comes first. */
export function warmSteps({ stages }: Curves): number {
  return stages.filter((stage) => stage === "warm-start").length;
}

/** The mean at each step that every run has, with its 95 % interval; one run stays as it is. */
function averaged(runs: readonly (readonly Point[])[]): Point[] {
  const [only, ...others] = runs;
  if (only === undefined) return [];
  if (others.length === 0) return [...only];
  const rest = others.map((points) => new Map(points.map(({ x, y }) => [x, y])));
  return only.flatMap(({ x, y }) => {
    const found = rest.flatMap((points) => points.get(x) ?? []);
    if (found.length < rest.length) return [];
    const values = [y, ...found];
    const interval = meanInterval(values);
    return [{ x, y: mean(values), ...(interval === null ? {} : { interval }) }];
  });
}

/** More points than a chart has room for become means of neighbours. */
const mostPoints = 160;

/** Steps that a point of the chart is the mean of. */
function stepsOf({ length }: readonly Point[]): number {
  return Math.max(1, Math.ceil(length / mostPoints));
}

/** @param isTotal the last of the neighbours stands for them, not their mean */
function thinned(points: readonly Point[], isTotal: boolean): Point[] {
  const size = stepsOf(points);
  if (size === 1) return [...points];
  if (isTotal) return points.filter((_, index) => (index + 1) % size === 0 || index === points.length - 1);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) => {
    const part = points.slice(index * size, (index + 1) * size);
    const bounds = part.flatMap(({ interval }) => interval ?? []);
    const interval =
      bounds.length < part.length
        ? {}
        : {
            interval: { low: mean(bounds.map(({ low }) => low)), high: mean(bounds.map(({ high }) => high)) },
          };
    return { x: part.at(-1)?.x ?? 0, y: mean(part.map(({ y }) => y)), ...interval };
  });
}

/** The step nearest to a place on the axis; null: there is none. */
export function nearest(steps: readonly number[], x: number): number | null {
  return steps.reduce<number | null>(
    (best, each) => (best === null || Math.abs(each - x) < Math.abs(best - x) ? each : best),
    null,
  );
}
