/**
 * Services that fail: how often a call is retried, how many lost episodes and faults a run tolerates, and what records
 * say of them. Counts are reproducible, times are not.
 */
import type { RetryOptions } from "../calls/retry.ts";
import type { ServicesUsed, ServiceUse } from "../calls/services.ts";
import { ServiceError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { FailedEpisode } from "../rollout/grow.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import type { ServiceCounts, Timing } from "../runs/records.ts";

export function retriesOf({ failures }: Pick<Recipe, "failures">): RetryOptions {
  const { retries, firstDelay, longestDelay } = failures;
  return { retries, firstDelay: 1000 * firstDelay, longestDelay: 1000 * longestDelay };
}

/** What a recipe allows the environment and the episodes of a step. */
export function limitsOf({
  rollout = {},
}: Pick<Recipe, "rollout">): Pick<RolloutSetting, "timeout" | "concurrency"> {
  const { timeoutSeconds, concurrency = null } = rollout;
  return { timeout: timeoutSeconds === undefined ? null : 1000 * timeoutSeconds, concurrency };
}

/** More episodes failed than the recipe allows. The step has not changed any weights. */
export class TooManyFailures extends ServiceError {}

/** Nothing rewards the episode of a program, which no service can mend. */
export class Unrewarded extends ServiceError {}

/**
 * @param limit share that may fail
 * @param describe what failed, given what is allowed
 * @throws TooManyFailures above the limit; also if all failed, whatever the limit
 */
export function boundFailures(
  failed: number,
  of: number,
  limit: number,
  describe: (allowed: string) => string,
  cause?: Error,
): void {
  if (failed === 0 || (failed <= limit * of && failed < of)) return;
  const allowed =
    failed <= limit * of
      ? "and at least one must succeed"
      : `failures.limit allows ${+(100 * limit).toFixed(2)} %`;
  throw new TooManyFailures(describe(allowed), { cause });
}

/** @throws TooManyFailures with the first cause */
export function checkFailures(failed: readonly FailedEpisode[], episodes: number, limit: number): void {
  const [first] = failed;
  const where = `The first, ${first?.path.join("/")}`;
  // If none succeeds, the cause is news and the limit is not.
  const describe = (allowed: string): string =>
    failed.length === episodes
      ? `${first?.cause.message} So all ${episodes} episodes failed; the first was ${first?.path.join("/")}.`
      : `${failed.length} of ${episodes} episodes failed, ${allowed}. ${where}: ${first?.cause.message}`;
  boundFailures(failed.length, episodes, limit, describe, first?.cause);
}

/**
 * Faults of services that are data, such as an expert's answer without edits, are limited like lost episodes: what a
 * run learns from must not be what a broken service writes. Not those of the sandbox: there a fault is a program's own, and
 * of its calls only those with a problem are known.
 * @throws TooManyFailures
 */
export function checkFaults(used: ServicesUsed, limit: number): void {
  const whole = Object.entries(used).filter(([, { onlyProblems }]) => onlyProblems !== true);
  for (const [name, { calls, faults, lastProblem = "" }] of whole)
    boundFailures(
      faults,
      calls,
      limit,
      (allowed) =>
        `${faults} of ${calls} answers of the ${name} were unusable, ${allowed}. The last: ${lastProblem}.`,
    );
}

type Counts = Pick<ServiceUse, "calls" | "faults" | "failures" | "retries">;

export function countsOf(used: ServicesUsed): { readonly services?: ServiceCounts } {
  const asked = Object.entries(used).filter(([, { calls, retries }]) => calls > 0 || retries > 0);
  const counted = asked.map(([name, { calls, faults, failures, retries }]) => {
    return [name, withoutZeros({ calls, faults, failures, retries })] as const;
  });
  return counted.length === 0 ? {} : { services: Object.fromEntries(counted) };
}

function withoutZeros({ calls, ...rest }: Counts): ServiceCounts[string] {
  return { calls, ...Object.fromEntries(Object.entries(rest).filter(([, count]) => count > 0)) };
}

export function timesOf(used: ServicesUsed): Pick<Timing, "services"> {
  const times = Object.entries(used).map(([name, { seconds, slowest, lastProblem }]) => {
    return [name, { seconds, slowest, ...(lastProblem === undefined ? {} : { lastProblem }) }] as const;
  });
  return times.length === 0 ? {} : { services: Object.fromEntries(times) };
}

/** Of several records together. */
export function summedCounts(counts: readonly (ServiceCounts | undefined)[]): {
  readonly services?: ServiceCounts;
} {
  const sums = new Map<string, Counts>();
  for (const [name, one] of counts.flatMap((each) => Object.entries(each ?? {}))) {
    const before = sums.get(name) ?? { calls: 0, faults: 0, failures: 0, retries: 0 };
    const { calls, faults = 0, failures = 0, retries = 0 } = one;
    sums.set(name, {
      calls: before.calls + calls,
      faults: before.faults + faults,
      failures: before.failures + failures,
      retries: before.retries + retries,
    });
  }
  const sorted = [...sums].toSorted(([left], [right]) => (left < right ? -1 : 1));
  if (sorted.length === 0) return {};
  return { services: Object.fromEntries(sorted.map(([name, sum]) => [name, withoutZeros(sum)])) };
}
