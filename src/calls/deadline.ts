/** A bound on the time that work of others may take. */
import { ServiceError, TroupeError } from "../errors.ts";

/**
 * The result of `work`, which gets a signal that is aborted when the time is over, or with the given one.
 * @param milliseconds null: no bound
 * @throws ServiceError if the time is over, even if the work never ends
 */
export async function withinTime<T>(
  work: (signal: AbortSignal) => Promise<T>,
  milliseconds: number | null,
  what: string,
  signal: AbortSignal = never,
): Promise<T> {
  if (milliseconds === null) return work(signal);
  const late = new AbortController();
  const { promise: timeOver, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new ServiceError(`${what} took longer than ${milliseconds / 1000} seconds`);
    // First the error, then the signal: the work may fail because of it at once.
    reject(error);
    late.abort(error);
  }, milliseconds);
  try {
    return await Promise.race([timeOver, work(AbortSignal.any([signal, late.signal]))]);
  } finally {
    clearTimeout(timer);
  }
}

const never = new AbortController().signal;

/** Milliseconds in which cancelled work may end by itself. */
const patience = 1000;

/**
 * The result of `work`. If it does not settle soon after the signal is aborted, as when it waits for something that
 * never comes, it is left to itself.
 * @throws TroupeError `cancelled`
 */
export async function settledWithin<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: abandoned, reject } = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const abandon = (): void => reject(new TroupeError("cancelled", "Cancelled; it did not end by itself."));
  const abort = (): void => {
    timer = setTimeout(abandon, patience);
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
