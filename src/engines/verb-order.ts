/**
 * The order of verbs that engine.ts promises, for an engine that would not keep it by itself. Verbs that read a policy run
 * side by side; one that changes it starts once those before it have started and the change before it is over.
 */
import { ServiceError, TroupeError } from "../errors.ts";
import type { PolicyName } from "./engine.ts";

/** A verb that changes policies. */
interface Change {
  /** Resolves when it is over, whatever became of it. */
  readonly over: PromiseWithResolvers<void>;
  failure: { readonly error: unknown } | null;
  /** What it waits for. */
  readonly before: Map<PolicyName, Line>;
}

/** What a policy was asked for last: a change, and the reads after it that have not started. */
interface Line {
  readonly change: Change | null;
  readonly readers: Set<Promise<void>>;
}

export class VerbOrder {
  readonly #lines = new Map<PolicyName, Line>();

  /** `start` is called in its turn, and before it first waits has taken what it needs of the policies. */
  async read<T>(policies: readonly PolicyName[], start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lines = policies.map((policy) => this.#line(policy));
    const started = Promise.withResolvers<void>();
    for (const { readers } of lines) readers.add(started.promise);
    try {
      if (lines.some(({ change }) => change !== null)) await turn(changesOf(lines), [], signal);
      return start();
    } finally {
      started.resolve();
      for (const { readers } of lines) readers.delete(started.promise);
    }
  }

  /** As `read`, and no other verb of these policies starts until it is over. */
  async change<T>(
    policies: readonly PolicyName[],
    start: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const own = this.#enter(policies);
    const lines = [...own.before.values()];
    const readers = lines.flatMap((line) => [...line.readers]);
    try {
      if (lines.some(({ change }) => change !== null) || readers.length > 0)
        await turn(changesOf(lines), readers, signal);
      return await start();
    } catch (error) {
      own.failure = { error };
      for (const policy of own.before.keys()) this.#undo(policy, own);
      throw error;
    } finally {
      this.#leave(own);
    }
  }

  #enter(policies: readonly PolicyName[]): Change {
    const own: Change = { over: Promise.withResolvers<void>(), failure: null, before: new Map() };
    for (const policy of new Set(policies)) {
      own.before.set(policy, this.#line(policy));
      this.#lines.set(policy, { change: own, readers: new Set() });
    }
    return own;
  }

  /** What comes from now on waits for what was asked for before the failed change, and for nothing behind it. */
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
    own.before.clear(); // or every change would hold all those before it
    own.over.resolve();
  }

  #line(policy: PolicyName): Line {
    const line = this.#lines.get(policy) ?? { change: null, readers: new Set() };
    this.#lines.set(policy, line);
    return line;
  }
}

function changesOf(lines: readonly Line[]): readonly Change[] {
  return lines.flatMap(({ change }) => change ?? []);
}

/** Resolves once all of it is over. A change that failed, and an aborted signal, end the wait with an error. */
async function turn(
  changes: readonly Change[],
  readers: readonly Promise<void>[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const all = Promise.all([...changes.map(({ over }) => over.promise), ...readers]);
  await (signal === undefined ? all : unlessAborted(all, signal));
  const failed = changes.find(({ failure }) => failure !== null);
  if (failed?.failure) throw failedBehind(failed.failure.error);
}

async function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new TroupeError("cancelled", "Cancelled before it began."));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The same code: who handles the failure of the first handles that of those behind it. */
function failedBehind(cause: unknown): TroupeError {
  const what = cause instanceof Error ? cause.message : String(cause);
  const message = `Not done, because what the policy was asked for before it failed: ${what}`;
  if (cause instanceof ServiceError) return new ServiceError(message, { cause });
  return new TroupeError(cause instanceof TroupeError ? cause.code : "internal", message, { cause });
}
