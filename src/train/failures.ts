/** Failing services: how often a call is retried, and how many lost episodes a run tolerates. */
import { ServiceError } from "../errors.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { RetryOptions } from "../calls/retry.ts";
import type { FailedEpisode } from "../rollout/grow.ts";

export function retriesOf({ failures }: Pick<Recipe, "failures">): RetryOptions {
  const { retries, firstDelay, longestDelay } = failures;
  return { retries, firstDelay: 1000 * firstDelay, longestDelay: 1000 * longestDelay };
}

/** More episodes failed than the recipe allows. The step has not changed any weights. */
export class TooManyFailures extends ServiceError {}

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
      ? `${first?.cause.message} So all ${episodes} episodes failed. ${where}.`
      : `${failed.length} of ${episodes} episodes failed, ${allowed}. ${where}: ${first?.cause.message}`;
  boundFailures(failed.length, episodes, limit, describe, first?.cause);
}
