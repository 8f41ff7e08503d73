/**
 * How well credit agrees with true values, within groups of candidates from the same state: what one group has in common
 * is in no number, as in an advantage. The true values are estimates from continuations, whose noise is measured, so that
 * it is not taken for a fault of the credit. Pure functions.
 *
 * Notation, over all candidates i of all groups: c̃ is the credit minus its group's mean, q̃ the same of the estimated value,
 * and e the variance of q̃'s error. Both means are over the candidates that have a credit.
 */
import { mean, studentQuantile, sum, type Interval } from "../statistics.ts";

/** The candidates of one decision. */
export interface Graded {
  /** Groups of the same cluster are not independent, such as decisions of one episode. */
  readonly cluster: string;
  /** One for each candidate. */
  readonly credits: readonly number[];
  /** Scores of the continuations of each candidate; the n-th of every candidate has the same random key. At least two. */
  readonly scores: readonly (readonly number[])[];
}

/** A number with its 95 % interval over clusters. Null: not defined, or too few clusters. */
export interface Estimate {
  readonly value: number | null;
  readonly interval: Interval | null;
}

export interface Agreement {
  readonly groups: number;
  readonly candidates: number;
  readonly clusters: number;
  /** r = Σ c̃q̃ / √(Σ c̃² · Σ q̃²) (Pearson, within groups). */
  readonly pearson: Estimate;
  /** √reliability: the r of a perfect credit, given the noise of the estimated values. */
  readonly ceiling: number | null;
  /** r divided by the ceiling (Spearman 1904, Am. J. Psychol. 15): what r would be with endless continuations. */
  readonly corrected: Estimate;
  /** Kendall's τ_b (1945, Biometrika 33) over the pairs of candidates within groups. */
  readonly kendall: Estimate;
  /** Share of candidates clearly better or worse than their group whose credit has that sign; ½ for a credit of 0. Chance: ½. */
  readonly sign: Estimate;
  /** Candidates that are clearly better or worse than their group. */
  readonly clear: number;
  /** Σ c̃q̃ / Σ c̃²: the value that a unit of credit is worth. 1: calibrated, for a credit in units of the score. */
  readonly slope: Estimate;
  /** Of candidates with similar credit, from the lowest to the highest: means of c̃ and q̃. */
  readonly bins: readonly Bin[];
}

export interface Bin {
  readonly candidates: number;
  readonly credit: number;
  readonly value: number;
  readonly interval: Interval | null;
}

/** Intervals of fewer clusters contain the true number too seldom. */
const leastClusters = 12;
const mostBins = 5;
/** Differences of sums of the same scores in another order. */
const rounding = 1e-9;

/** @param zero `own`: a credit's sign is its own, as an advantage's. `group`: that of its difference from its group's mean */
export function agreementOf(graded: readonly Graded[], zero: "own" | "group"): Agreement {
  const groups = graded.filter(({ credits }) => credits.length > 1).map((one) => measured(one, zero));
  const inBins = binned(groups);
  const clusters = [...Map.groupBy(groups, ({ cluster }) => cluster).values()].map((own) =>
    totalOf(own, inBins),
  );
  const length = firstBin + 2 * inBins.length;
  const whole = added(clusters, length);
  const less = clusters.map((one) => without(whole, one));
  const estimate = (of: Measure, scale: Scale): Estimate => ({
    value: of(whole),
    interval: jackknifed(of(whole), less.map(of), scale),
  });
  return {
    groups: groups.length,
    candidates: sum(groups.map(({ credits }) => credits.length)),
    clusters: clusters.length,
    pearson: estimate(pearsonOf, correlations),
    ceiling: ceilingOf(whole),
    corrected: estimate(correctedOf, Math.abs(correctedOf(whole) ?? 0) < nearOne ? correlations : numbers),
    kendall: estimate(kendallOf, correlations),
    sign: estimate(signShare, shares),
    clear: at(whole, "clear"),
    slope: estimate(slopeOf, numbers),
    bins: inBins.map((members, bin) => ({
      candidates: members.size,
      credit: mean([...members].map(({ credit }) => credit)),
      value: meanInBin(bin)(whole) ?? 0,
      interval: estimate(meanInBin(bin), numbers).interval,
    })),
  };
}

/** Estimated values, minus their mean, with the variance of their error: the noise that candidates share is in neither. */
export function differencesOf(
  scores: Graded["scores"],
): { readonly value: number; readonly error: number }[] {
  const continuations = scores[0]?.length ?? 0;
  const means = Array.from({ length: continuations }, (_, n) => mean(scores.map((own) => own[n] ?? 0)));
  return scores.map((own) => {
    const differences = own.map((score, n) => score - (means[n] ?? 0));
    const value = mean(differences);
    const squares = sum(differences.map((one) => (one - value) ** 2));
    return { value, error: squares / (continuations - 1) / continuations };
  });
}

interface Candidate {
  /** c̃, q̃ and e. */
  readonly credit: number;
  readonly value: number;
  readonly error: number;
}

interface Measured {
  readonly cluster: string;
  readonly credits: readonly number[];
  readonly candidates: readonly Candidate[];
  readonly order: number;
  readonly ordered: number;
  readonly orderedByCredit: number;
  readonly agreeing: number;
  readonly clear: number;
}

function measured({ cluster, credits, scores }: Graded, zero: "own" | "group"): Measured {
  const centre = mean(credits);
  const candidates = differencesOf(scores).map((one, index) => ({
    ...one,
    credit: (credits[index] ?? 0) - centre,
  }));
  const quantile = quantileOf((scores[0]?.length ?? 0) - 1);
  const clear = candidates.flatMap(({ value, error, credit }, index) => {
    if (Math.abs(value) <= Math.max(rounding, quantile * Math.sqrt(error))) return [];
    const sign = signOf(zero === "own" ? (credits[index] ?? 0) : credit);
    return [(1 + sign * Math.sign(value)) / 2];
  });
  return { cluster, credits, candidates, ...pairsOf(candidates), agreeing: sum(clear), clear: clear.length };
}

const quantiles = new Map<number, number>();

/** Found by bisection: once for each number of continuations. */
function quantileOf(degrees: number): number {
  const found = quantiles.get(degrees) ?? studentQuantile(degrees);
  quantiles.set(degrees, found);
  return found;
}

function pairsOf(candidates: readonly Candidate[]): Pick<Measured, "order" | "ordered" | "orderedByCredit"> {
  let [order, ordered, orderedByCredit] = [0, 0, 0];
  for (const [index, one] of candidates.entries()) {
    for (const other of candidates.slice(index + 1)) {
      const [byValue, byCredit] = [signOf(other.value - one.value), signOf(other.credit - one.credit)];
      order += byValue * byCredit;
      ordered += Math.abs(byValue);
      orderedByCredit += Math.abs(byCredit);
    }
  }
  return { order, ordered, orderedByCredit };
}

function signOf(value: number): number {
  return Math.abs(value) <= rounding ? 0 : Math.sign(value);
}

/** As many candidates in each bin as possible, equal credits in the same one. Empty if all credits are equal. */
function binned(groups: readonly Measured[]): readonly ReadonlySet<Candidate>[] {
  const sorted = groups
    .flatMap(({ candidates }) => candidates)
    .toSorted((one, other) => one.credit - other.credit);
  const bins: Set<Candidate>[] = [];
  for (const [index, candidate] of sorted.entries()) {
    const before = sorted[index - 1];
    const isEqual = before !== undefined && candidate.credit - before.credit <= rounding;
    const isNext = index >= (bins.length * sorted.length) / mostBins;
    if (bins.length === 0 || (isNext && !isEqual)) bins.push(new Set());
    bins.at(-1)?.add(candidate);
  }
  return bins.length < 2 ? [] : bins;
}

/**
 * What all measures are made of: sums over groups, so that leaving a cluster out is a difference of rows. For each bin, the sum
 * of its candidates' values and their number follow.
 */
type Total = Float64Array;

const place = {
  products: 0,
  credits: 1,
  values: 2,
  errors: 3,
  order: 4,
  ordered: 5,
  orderedByCredit: 6,
  agreeing: 7,
  clear: 8,
};
const firstBin = Object.keys(place).length;

function totalOf(groups: readonly Measured[], inBins: readonly ReadonlySet<Candidate>[]): Total {
  const candidates = groups.flatMap((group) => group.candidates);
  const over = (of: (candidate: Candidate) => number) => sum(candidates.map(of));
  const overGroups = (of: (group: Measured) => number) => sum(groups.map(of));
  return Float64Array.of(
    over(({ credit, value }) => credit * value),
    over(({ credit }) => credit ** 2),
    over(({ value }) => value ** 2),
    over(({ error }) => error),
    overGroups(({ order }) => order),
    overGroups(({ ordered }) => ordered),
    overGroups(({ orderedByCredit }) => orderedByCredit),
    overGroups(({ agreeing }) => agreeing),
    overGroups(({ clear }) => clear),
    ...inBins.flatMap((members) => {
      const own = candidates.filter((candidate) => members.has(candidate));
      return [sum(own.map(({ value }) => value)), own.length];
    }),
  );
}

function added(totals: readonly Total[], length: number): Total {
  const all = new Float64Array(length);
  for (const total of totals) for (let at = 0; at < length; at++) all[at] = (all[at] ?? 0) + (total[at] ?? 0);
  return all;
}

type Measure = (total: Total) => number | null;

const at = (total: Total, name: keyof typeof place): number => total[place[name]] ?? 0;

const pearsonOf: Measure = (total) =>
  ratio(at(total, "products"), Math.sqrt(at(total, "credits") * at(total, "values")));

/** Σ q̃² contains the errors; without them it is what true values would have (an unbiased estimate). */
const ceilingOf: Measure = (total) => {
  const [values, errors] = [at(total, "values"), at(total, "errors")];
  return values > rounding ** 2 && values > errors ? Math.sqrt(1 - errors / values) : null;
};

const correctedOf: Measure = (total) => {
  const [pearson, ceiling] = [pearsonOf(total), ceilingOf(total)];
  return pearson === null || ceiling === null ? null : pearson / ceiling;
};

const kendallOf: Measure = (total) =>
  ratio(at(total, "order"), Math.sqrt(at(total, "ordered") * at(total, "orderedByCredit")));

const signShare: Measure = (total) => ratio(at(total, "agreeing"), at(total, "clear"));

const slopeOf: Measure = (total) => ratio(at(total, "products"), at(total, "credits"));

const meanInBin =
  (bin: number): Measure =>
  (total) =>
    ratio(total[firstBin + 2 * bin] ?? 0, total[firstBin + 2 * bin + 1] ?? 0);

/** Null for 0 in the denominator: a constant has no correlation. */
function ratio(above: number, below: number): number | null {
  return below > rounding ** 2 ? above / below : null;
}

function without(whole: Total, part: Total): Total {
  return whole.map((total, index) => total - (part[index] ?? 0));
}

/** On which a measure's errors are about normal. */
interface Scale {
  readonly to: (value: number) => number;
  readonly from: (value: number) => number;
}

const numbers: Scale = { to: (value) => value, from: (value) => value };
const shares: Scale = { ...numbers, from: (value) => Math.min(1, Math.max(0, value)) };
/** Fisher's z (1915, Biometrika 10). */
const most = 0.9999;
/** From here on a corrected correlation, which may exceed 1 by chance, has no z. */
const nearOne = 0.95;
const correlations: Scale = {
  to: (value) => Math.atanh(Math.min(most, Math.max(-most, value))),
  from: Math.tanh,
};

/**
 * From the estimates that lack one cluster each, with Student's t (Miller 1974, Biometrika 61, "The jackknife – a review").
 * Resampled percentiles contain the true number far less often with as few clusters as an audit has. Null: too few
 * clusters, one estimate is undefined, or all are the same, which says nothing of other clusters.
 */
function jackknifed(
  whole: number | null,
  less: readonly (number | null)[],
  { to, from }: Scale,
): Interval | null {
  const known = less.filter((value) => value !== null).map(to);
  const count = known.length;
  if (whole === null || count < leastClusters || count < less.length) return null;
  const centre = mean(known);
  const error = Math.sqrt(((count - 1) / count) * sum(known.map((one) => (one - centre) ** 2)));
  if (error <= rounding) return null;
  const half = quantileOf(count - 1) * error;
  return { low: from(to(whole) - half), high: from(to(whole) + half) };
}
