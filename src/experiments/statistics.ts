/** Means over seeds with confidence intervals. */
import type { Interval } from "../statistics.ts";
import { mean, meanInterval, wilsonInterval } from "../statistics.ts";
import type { CellNumbers } from "./records.ts";

/**
 * 95 % interval of a share, given by its value for each seed. The seeds play the same tasks, so it is never within
 * Wilson's over these: seeds that agree say nothing about other tasks. Limited to [0, 1]; null without values.
 */
export function shareInterval(shares: readonly number[], tasks: number): Interval | null {
  if (shares.length === 0) return null;
  const overTasks = taskInterval(shares, tasks);
  const { low, high } = meanInterval(shares) ?? overTasks;
  return {
    low: Math.max(0, Math.min(low, overTasks.low)),
    high: Math.min(1, Math.max(high, overTasks.high)),
  };
}

/**
 * Wilson's 95 % interval with every task as one trial, however many seeds and samples played it: as in
 * `clusteredInterval` where the tasks' own shares are not known, which gives the widest.
 */
export function taskInterval(shares: readonly number[], tasks: number): Interval {
  const share = Math.min(1, Math.max(0, mean(shares)));
  return wilsonInterval(share * tasks, tasks);
}

/** How much more successful one row is than another, in the same seeds. */
export interface PairedDifference {
  readonly mean: number;
  /** 95 %. Null: one seed, so nothing is known of how much trainings differ. */
  readonly interval: Interval | null;
  /** The interval excludes 0. */
  readonly isClear: boolean;
}

type Measured = Pick<CellNumbers, "success" | "tasks" | "solved">;

/**
 * Rows share a seed's warm start and all tasks, so that what these have in common is in no difference. Two kinds of
 * chance are added: of seeds (Student's t over the seeds' differences) and of tasks, paired where it is known which of
 * them were solved, and otherwise as if rows had tasks of their own, which gives a wider interval (Newcombe 1998,
 * Statistics in Medicine 17, method 10).
 * @param pairs of each seed that both rows have; at least one
 */
export function pairedDifference(
  pairs: readonly { readonly one: Measured; readonly other: Measured }[],
): PairedDifference {
  const differences = pairs.map(({ one, other }) => one.success - other.success);
  const centre = mean(differences);
  const seeds = meanInterval(differences);
  if (seeds === null) return { mean: centre, interval: null, isClear: false };
  const [below, above] = byTaskSpread(pairs) ?? unpairedSpread(pairs);
  const low = Math.max(-1, centre - Math.hypot(centre - seeds.low, below));
  const high = Math.min(1, centre + Math.hypot(seeds.high - centre, above));
  return { mean: centre, interval: { low, high }, isClear: low > 0 || high < 0 };
}

type Pairs = Parameters<typeof pairedDifference>[0];

/** Half of a 95 % interval over tasks, of each task's mean difference over seeds. Null: unknown. */
function byTaskSpread(pairs: Pairs): readonly [number, number] | null {
  const known = pairs.flatMap(({ one, other }) =>
    one.solved === undefined || one.solved.length !== other.solved?.length
      ? []
      : [[one.solved, other.solved] as const],
  );
  const tasks = known[0]?.[0].length ?? 0;
  if (known.length < pairs.length || known.some(([one]) => one.length !== tasks)) return null;
  const byTask = Array.from({ length: tasks }, (_, task) =>
    mean(known.map(([one, other]) => Number(one[task]) - Number(other[task]))),
  );
  const interval = meanInterval(byTask);
  const half = interval === null ? null : (interval.high - interval.low) / 2;
  return half === null ? null : [half, half];
}

function unpairedSpread(pairs: Pairs): readonly [number, number] {
  const [one, other] = [pairs.map((pair) => pair.one), pairs.map((pair) => pair.other)].map((row) => {
    const share = mean(row.map(({ success }) => success));
    const { low, high } = taskInterval([share], Math.min(...row.map(({ tasks }) => tasks)));
    return { below: share - low, above: high - share };
  }) as [Record<"below" | "above", number>, Record<"below" | "above", number>];
  return [Math.hypot(one.below, other.above), Math.hypot(one.above, other.below)];
}
