/**
 * Implements the order of verbs that engine.ts promises, for an engine that does not itself. Verbs that read a policy
 * run concurrently, once the change before them is done; a change runs alone, once everything submitted before it is
 * done. A service that keeps the order itself takes changes without waiting for their results: a change that says so
 * lets those after it start, but each reports its result only after the changes before it.
 */
import { ServiceError, TroupeError } from "../errors.ts";
import type { PolicyName } from "./engine.ts";

/** What a change can say and ask while it runs. */
export interface RunningChange {
  /** Whatever takes effect after this change may start now, and not only at its end. */
  readonly letNextStart: () => void;
  /** Whether no other change of these policies was submitted since. */
  readonly isLast: () => boolean;
}

/** A verb that changes policies. */
interface Change {
  /** Resolves when those after it may start. */
  readonly nextMayStart: PromiseWithResolvers<void>;
  /** Resolves when it is done, whatever the result. */
  readonly over: PromiseWithResolvers<void>;
  failure: { readonly error: unknown } | null;
  /** What it waits for. */
  readonly before: Map<PolicyName, Line>;
}

/** A policy's latest verbs: a change, and the unfinished reads after it. */
interface Line {
  readonly change: Change | null;
  readonly readers: Set<Promise<void>>;
}

export class VerbOrder {
  readonly #lines = new Map<PolicyName, Line>();
  readonly #closing = new AbortController();

  /** `work` is called in its turn. */
  async read<T>(policies: readonly PolicyName[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lines = policies.map((policy) => this.#line(policy));
    const over = Promise.withResolvers<void>();
    for (const { readers } of lines) readers.add(over.promise);
    try {
      const before = changesOf(lines);
      if (before.length === 0) return await work();
      await this.#turn(before, [], signal);
      return await reported(before, work());
    } finally {
      over.resolve();
      for (const { readers } of lines) readers.delete(over.promise);
    }
  }

  /** Like `read`, with no concurrent verb on these policies. */
  async change<T>(
    policies: readonly PolicyName[],
    work: (running: RunningChange) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const own = this.#enter(policies);
    const lines = [...own.before.values()];
    const readers = lines.flatMap((line) => [...line.readers]);
    const before = changesOf(lines);
    try {
      if (before.length > 0 || readers.length > 0) await this.#turn(before, readers, signal);
      const result = work({ letNextStart: own.nextMayStart.resolve, isLast: () => this.#isLast(own) });
      return await (before.length === 0 ? result : reported(before, result));
    } catch (error) {
      own.failure = { error };
      for (const policy of own.before.keys()) this.#undo(policy, own);
      throw error;
    } finally {
      this.#leave(own);
    }
  }

  /** Cancels waiting verbs. */
  close(): void {
    this.#closing.abort();
  }

  /** Resolves once all of it is done. A failed change, or an aborted signal, rejects. */
  async #turn(
    changes: readonly Change[],
    readers: readonly Promise<void>[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const closing = this.#closing.signal;
    const all = Promise.all([...changes.map(({ nextMayStart }) => nextMayStart.promise), ...readers]);
    await unlessAborted(all, signal === undefined ? closing : AbortSignal.any([closing, signal]));
    rejectBehindFailure(changes);
  }

  #isLast(own: Change): boolean {
    return [...own.before.keys()].every((policy) => this.#line(policy).change === own);
  }

  #enter(policies: readonly PolicyName[]): Change {
    const [nextMayStart, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const own: Change = { nextMayStart, over, failure: null, before: new Map() };
    for (const policy of new Set(policies)) {
      own.before.set(policy, this.#line(policy));
      this.#lines.set(policy, { change: own, readers: new Set() });
    }
    return own;
  }

  /** Verbs submitted from now on wait for those before the failed change, but not for those after it. */
  #undo(policy: PolicyName, failed: Change): void {
    let change = this.#line(policy).change;
    while (change !== null && change !== failed) change = change.before.get(policy)?.change ?? null;
    const line = failed.before.get(policy);
    if (change === failed && line !== undefined) this.#lines.set(policy, line);
  }

  #leave(own: Change): void {
    for (const policy of own.before.keys()) {
      const { change, readers } = this.#line(policy);
      if (change === own) this.#lines.set(policy, { change: null, readers });
    }
    own.before.clear(); // otherwise every change would keep all earlier ones alive
    own.over.resolve();
    own.nextMayStart.resolve();
  }

  #line(policy: PolicyName): Line {
    const line = this.#lines.get(policy) ?? { change: null, readers: new Set() };
    this.#lines.set(policy, line);
    return line;
  }
}

/** The result, once the changes before have theirs. One that failed after others had started fails them too. */
async function reported<T>(before: readonly Change[], running: Promise<T>): Promise<T> {
  const [result] = await Promise.allSettled([running, ...before.map(({ over }) => over.promise)]);
  rejectBehindFailure(before);
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

function rejectBehindFailure(changes: readonly Change[]): void {
  const failed = changes.find(({ failure }) => failure !== null);
  if (failed?.failure) throw failedBehind(failed.failure.error);
}

function changesOf(lines: readonly Line[]): readonly Change[] {
  return lines.flatMap(({ change }) => change ?? []);
}

/** @throws TroupeError `cancelled` */
export async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new TroupeError("cancelled", "Cancelled before it started."));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The same code, so that a handler of the first failure also handles those after it. */
function failedBehind(cause: unknown): TroupeError {
  const what = cause instanceof Error ? cause.message : String(cause);
  const message = `Not executed, because an earlier verb on the policy failed: ${what}`;
  if (cause instanceof ServiceError) return new ServiceError(message, { cause });
  return new TroupeError(cause instanceof TroupeError ? cause.code : "internal", message, { cause });
}
