/** Calls of the environment: with a context, bounded in time, and retried after a service failure. */
import type { Context } from "../environments/environment.ts";
import type { Key } from "../random.ts";
import { retrying } from "../calls/retry.ts";
import { withinTime } from "../calls/deadline.ts";
import type { RolloutSetting } from "./setting.ts";

type Calls = Pick<RolloutSetting, "environment" | "signal" | "services" | "retries" | "timeout">;

/**
 * @param key the same in every attempt, so that a retry does the same
 * @param what for messages: `step`
 * @throws ServiceError if a service failed, or the time was over, in spite of retries
 */
export function callEnvironment<T>(
  { environment, signal, services, retries, timeout }: Calls,
  key: Key,
  what: string,
  call: (context: Context) => Promise<T>,
): Promise<T> {
  const attempt = (own: AbortSignal): Promise<T> => call({ key, signal: own, services });
  const name = `\`${what}\` of ${environment.name}`;
  return retrying(() => withinTime(attempt, timeout, name, signal), retries, signal);
}
