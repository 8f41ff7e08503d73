/** What services did, in records: counts are reproducible, times are not; and how many faults a run tolerates. */
import type { ServicesUsed, ServiceUse } from "../calls/services.ts";
import type { ServiceCounts, Timing } from "../runs/records.ts";
import { boundFailures } from "./failures.ts";

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

/**
 * Faults of services that are data, such as an expert's answer without edits, are limited like lost episodes: what a
 * run learns from must not be what a broken service writes.
 * @throws TooManyFailures
 */
export function checkFaults(used: ServicesUsed, limit: number): void {
  for (const [name, { calls, faults, lastProblem = "" }] of Object.entries(used))
    boundFailures(
      faults,
      calls,
      limit,
      (allowed) =>
        `${faults} of ${calls} answers of the ${name} are none, ${allowed}. The last: ${lastProblem}.`,
    );
}
