/**
 * Signs that training collapses: figures of a run's records beyond the limits of its recipe. Pure: the same records have
 * the same signs, so that a resumed run finds what it found before. `watching.ts` acts on them.
 */
import { showCount, showNumber, showShare } from "../format.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Measure, Watch, WatchAction } from "../recipes/watch.ts";
import { onFirstTasks } from "../runs/common-tasks.ts";
import type { Evaluation, RoleMetrics, StepMetrics, WatchRecord } from "../runs/records.ts";
import { mean, standardDeviation, sum } from "../statistics.ts";

/** What is compared: the records of a run. */
export interface Watched {
  readonly watch: Watch;
  /** Names of the roles that learn. */
  readonly roles: readonly string[];
  /** Of reinforcement, in order, up to the last step. */
  readonly metrics: readonly StepMetrics[];
  /** Of the trained team, in order, from the start of reinforcement. */
  readonly evaluations: readonly Evaluation[];
  /** The step of the last return to a checkpoint: figures before it count as bests only. 0: none. */
  readonly since: number;
}

/** A limit that was crossed. */
export type Sign = Pick<
  WatchRecord,
  "measure" | "of" | "value" | "replies" | "limit" | "best" | "tasks" | "success"
> & {
  readonly action: WatchAction;
};

/** A sign, and whether the records before the last step, or the last measurement, had it already. */
interface Found {
  readonly sign: Sign;
  readonly isOld: boolean;
}

/**
 * The signs after the last step. A warning is a sign in the step in which a figure crosses its limit, and not while it
 * stays there.
 */
export function signsIn(watched: Watched): readonly Sign[] {
  const found = [...boundedSigns(watched), ...successSigns(watched), ...evaluationSigns(watched)];
  return found.filter(({ sign, isOld }) => sign.action !== "warn" || !isOld).map(({ sign }) => sign);
}

function boundedSigns(watched: Watched): readonly Found[] {
  const { watch, metrics, since } = watched;
  const { window, limits } = watch;
  const recent = metrics.filter(({ step }) => step > since);
  const success = recentSuccess(watched);
  const inWindow = ({ measure, values }: Series): Crossed | null => {
    const limit = limits?.[measure];
    if (limit === undefined || values.length < window) return null;
    const figures = values.slice(-window);
    const replies = measure === "influence" ? weightOf(figures) : undefined;
    if (replies !== undefined && replies < watch.influence.replies) return null;
    const value = meanOf(figures);
    const crossed = crossedBy(value, limit);
    return crossed && { value, limit: crossed, ...(replies === undefined ? {} : { replies }) };
  };
  return seriesOf(watched, recent).flatMap((series): readonly Found[] => {
    const { measure, of, values } = series;
    // A figure that was not measured in the last step has no news.
    const crossed = values.at(-1) === undefined ? null : inWindow(series);
    const { action } = limits?.[measure] ?? {};
    if (crossed === null || action === undefined) return [];
    const isOld = inWindow({ ...series, values: values.slice(0, -1) }) !== null;
    return [{ sign: { measure, of, ...crossed, success, action }, isOld }];
  });
}

type Crossed = Pick<Sign, "value" | "replies" | "limit">;

/** Of training, averaged over the window. */
function recentSuccess({ watch: { window }, metrics, since }: Watched): number {
  const recent = metrics.filter(({ step }) => step > since).slice(-window);
  return mean(recent.map(({ rollout }) => rollout?.success ?? 0));
}

/** Of figures that `known` has cleared. */
function meanOf(cleared: readonly (Figure | undefined)[]): number {
  const figures = cleared as readonly Figure[];
  return sum(figures.map(({ value, weight }) => value * weight)) / weightOf(figures);
}

function weightOf(figures: readonly (Figure | undefined)[]): number {
  return sum(figures.map((figure) => figure?.weight ?? 0));
}

/** A step's figure, and how much it counts in the mean over a window. */
interface Figure {
  readonly value: number;
  readonly weight: number;
}

function figureOf(value: number | undefined, weight = 1): Figure | undefined {
  return value === undefined ? undefined : { value, weight };
}

/** The values of a role or policy, one for each step in which it is measured; undefined last: not in the last step. */
interface Series {
  readonly measure: Exclude<Measure, "success" | "evaluation">;
  readonly of: string;
  readonly values: readonly (Figure | undefined)[];
}

const ofRoles = ["entropy", "length", "truncated", "flatGroups", "advantageShare", "influence"] as const;
const ofPolicies = ["kl", "gradientNorm"] as const;

function seriesOf({ roles }: Watched, recent: readonly StepMetrics[]): readonly Series[] {
  const policies = Object.keys(recent.at(-1)?.policies ?? {});
  return [
    ...ofRoles.flatMap((measure) =>
      roles.map((of) => ({
        measure,
        of,
        values: known(recent.map(({ rollout }) => figureIn(rollout?.roles[of], measure))),
      })),
    ),
    ...ofPolicies.flatMap((measure) =>
      policies.map((of) => ({
        measure,
        of,
        values: known(recent.map((step) => figureOf(step.policies[of]?.[measure]))),
      })),
    ),
  ];
}

/** A step in which influence was measured on few replies says little. */
function figureIn(role: RoleMetrics | undefined, measure: (typeof ofRoles)[number]): Figure | undefined {
  return figureOf(role?.[measure], measure === "influence" ? role?.influenceReplies : 1);
}

/** Steps without the figure are left out, such as those between two measurements of influence; the last one stays. */
function known(values: readonly (Figure | undefined)[]): readonly (Figure | undefined)[] {
  return values.filter((value, index) => value !== undefined || index === values.length - 1);
}

interface Bounds {
  readonly below?: number | undefined;
  readonly above?: number | undefined;
}

function crossedBy(value: number, { below, above }: Bounds): WatchRecord["limit"] | null {
  if (below !== undefined && value < below) return { kind: "below", at: below };
  if (above !== undefined && value > above) return { kind: "above", at: above };
  return null;
}

/** Differences of means within this many standard errors are chance. */
const leastErrors = 3;

/**
 * Success in training, averaged over the window, has fallen below its best window by more than the limit, and by more than
 * chance.
 */
function successSigns(watched: Watched): readonly Found[] {
  const sign = fallIn(watched, watched.metrics);
  if (sign === null) return [];
  return [{ sign, isOld: fallIn(watched, watched.metrics.slice(0, -1)) !== null }];
}

function fallIn({ watch: { window, limits }, since }: Watched, metrics: readonly StepMetrics[]): Sign | null {
  const limit = limits?.success;
  const recent = metrics.filter(({ step }) => step > since).slice(-window);
  if (limit?.drop === undefined || recent.length < window) return null;
  const now = meanSuccess(recent);
  const best = bestWindow(metrics, window) ?? now;
  if (now.mean >= (1 - limit.drop) * best.mean) return null;
  if (best.mean - now.mean <= leastErrors * errorBetween(now, best)) return null;
  const { mean: value } = now;
  return {
    measure: "success",
    value,
    limit: { kind: "drop", at: limit.drop },
    best: best.mean,
    success: value,
    action: limit.action,
  };
}

/** Of all that end before the last one; the earliest of equal ones. Its sum is moved along, so a long run costs little. */
function bestWindow(metrics: readonly StepMetrics[], window: number): Mean | null {
  const successes = metrics.map(({ rollout }) => rollout?.success ?? 0);
  let [total, most, best] = [sum(successes.slice(0, window)), -Infinity, -1];
  for (let start = 0; start + window < metrics.length; start++) {
    // Sums of the same numbers in another order differ by less than this.
    if (total > most + 1e-9) [most, best] = [total, start];
    total += (successes[start + window] ?? 0) - (successes[start] ?? 0);
  }
  return best === -1 ? null : meanSuccess(metrics.slice(best, best + window));
}

interface Mean {
  readonly mean: number;
  readonly episodes: number;
  /** Of the mean, from how much steps differ; 0 for one step. */
  readonly squaredError: number;
}

function meanSuccess(steps: readonly StepMetrics[]): Mean {
  const values = steps.map(({ rollout }) => rollout?.success ?? 0);
  const count = values.length;
  return {
    mean: mean(values),
    episodes: sum(steps.map(({ rollout }) => rollout?.episodes ?? 0)),
    squaredError: count < 2 ? 0 : standardDeviation(values) ** 2 / (count - 1),
  };
}

/**
 * The standard error of a difference: from how much steps differ, but at least that of as many independent episodes as were
 * sampled. The best of many windows is a lucky one, whose steps differ less than usual.
 */
function errorBetween(one: Mean, other: Mean): number {
  const share = (one.mean + other.mean) / 2;
  const binomial = share * (1 - share) * (1 / Math.max(1, one.episodes) + 1 / Math.max(1, other.episodes));
  return Math.sqrt(Math.max(one.squaredError + other.squaredError, binomial));
}

/** Of the last step's evaluation, if it made one: on the same tasks, its interval is below that of the best. */
function evaluationSigns(watched: Watched): readonly Found[] {
  const { watch, metrics, evaluations, since } = watched;
  const limit = watch.limits?.evaluation;
  const [last, step] = [evaluations.at(-1), metrics.at(-1)?.step];
  if (limit?.drop === undefined || last === undefined || last.step !== step || step <= since) return [];
  const { drop: at, action } = limit;
  const best = bestOf(evaluations.filter((one) => areComparable(one, last))) ?? last;
  const fall = fallBelow(best, last, at);
  if (fall === null) return [];
  const before = evaluations.at(-2);
  const isNews = before === undefined || before.step <= since || before.step <= best.step;
  const sign = {
    measure: "evaluation",
    ...fall,
    limit: { kind: "drop", at },
    success: recentSuccess(watched),
    action,
  } as const;
  return [{ sign, isOld: !isNews && fallBelow(best, before, at) !== null }];
}

/** Not so: they have different numbers of tasks, and the larger does not say which of them it solved. */
function areComparable(one: Evaluation, other: Evaluation): boolean {
  const tasks = Math.min(one.tasks, other.tasks);
  return onFirstTasks(one, tasks) !== null && onFirstTasks(other, tasks) !== null;
}

/** Null: it has not fallen by this share, its intervals leave room for chance, or they have no tasks to compare. */
function fallBelow(
  best: Evaluation,
  other: Evaluation,
  drop: number,
): Pick<Sign, "value" | "best" | "tasks"> | null {
  const tasks = Math.min(best.tasks, other.tasks);
  const [high, low] = [onFirstTasks(best, tasks), onFirstTasks(other, tasks)];
  if (high === null || low === null) return null;
  if (low.success >= (1 - drop) * high.success || low.high >= high.low) return null;
  return { value: low.success, best: high.success, tasks };
}

/** The best of one team, the earliest of equal ones; null: there is none. */
export function bestOf(evaluations: readonly Evaluation[]): Evaluation | null {
  return evaluations.reduce<Evaluation | null>(
    (best, one) => (best !== null && !isBetter(one, best) ? best : one),
    null,
  );
}

/** On the tasks that both have: an evaluation during training may have fewer, which are the first. */
function isBetter(one: Evaluation, other: Evaluation): boolean {
  if (one.solved === undefined || other.solved === undefined) return one.success > other.success;
  const common = Math.min(one.solved.length, other.solved.length);
  const solvedOf = ({ solved: marks = "" }: Evaluation): number =>
    marks.slice(0, common).replaceAll("0", "").length;
  return solvedOf(one) > solvedOf(other);
}

const units: Readonly<Record<string, { readonly what: string; readonly show: (value: number) => string }>> = {
  entropy: { what: "entropy", show: (value) => `${showNumber(value)} nats per token` },
  length: { what: "length", show: (value) => `${showNumber(value)} tokens per action` },
  truncated: { what: "share of actions at the token limit", show: showShare },
  flatGroups: { what: "share of groups with equal returns", show: showShare },
  advantageShare: { what: "share of the advantages", show: showShare },
  influence: { what: "influence on the next role", show: (value) => `${showNumber(value)} nats per token` },
  kl: { what: "KL", show: (value) => `${showNumber(value)} nats per token` },
  gradientNorm: { what: "gradient norm", show: showNumber },
  success: { what: "success in training", show: showShare },
  evaluation: { what: "success in evaluation", show: showShare },
};

/** `entropy of planner is 0.01 nats per token, below 0.05` */
export function describeSign({
  measure,
  of,
  value,
  replies,
  limit,
  best,
  tasks,
}: Omit<Sign, "action" | "success">): string {
  const { what, show } = units[measure] ?? { what: measure, show: showNumber };
  const whose = of === undefined ? what : `${what} of ${of}`;
  const on = replies === undefined ? "" : ` on ${showCount(replies)} replies`;
  const found = `${whose} is ${show(value)}${on}`;
  if (limit.kind !== "drop") return `${found}, ${limit.kind} ${limit.at}`;
  const among = tasks === undefined ? "" : ` of ${showCount(tasks)} tasks`;
  return `${whose} fell from ${show(best ?? 0)} to ${show(value)}${among}, more than the ${showShare(limit.at)} that is allowed`;
}

/** What the recipe watches; null: nothing. */
export function watchOf({ watch }: Pick<Recipe, "watch">): Watch | null {
  return watch === undefined || watch === "off" ? null : watch;
}

/** Whether the run may return to a checkpoint. */
export function mayReturn(recipe: Pick<Recipe, "watch">): boolean {
  return Object.values(watchOf(recipe)?.limits ?? {}).some((limit) => limit?.action === "return");
}
