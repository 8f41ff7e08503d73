/**
 * Divides a sandbox's sessions among pieces of work: two that each wait for the other's sessions would wait forever.
 * Each reserves what it needs and starts no more; sessions that are only kept for later give way.
 */
import { Service } from "../calls/services.ts";
import type { Program, Sandbox, RunningProgram } from "./sandbox.ts";

/** For a sandbox that does not report its number. */
const fewestSessions = 4;

/** A session that nobody uses at present. */
export interface KeptSession {
  /** Ends it. */
  kill(): void;
}

interface Waiting {
  readonly needed: number;
  readonly begin: () => void;
}

class Sessions {
  readonly #sandbox: Sandbox;
  readonly #waiting: Waiting[] = [];
  /** The least recently used first. */
  readonly #kept = new Set<KeptSession>();
  #reserved = 0;
  #open = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Resolves once all of them are available; first come, first served. */
  async reserve(needed: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(needed)) {
      this.#reserved += needed;
      return;
    }
    await new Promise<void>((begin) => this.#waiting.push({ needed, begin }));
  }

  release(needed: number): void {
    this.#reserved -= needed;
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      if (!this.#fits(first.needed)) return;
      this.#waiting.shift();
      this.#reserved += first.needed;
      first.begin();
    }
  }

  async start(program: Program, signal: AbortSignal | undefined): Promise<RunningProgram> {
    this.#makeRoom();
    this.#open++;
    const end = (): void => void this.#open--;
    try {
      const session = await this.#sandbox.start(program, signal);
      session.ended.then(end, end);
      return session;
    } catch (error) {
      end();
      throw error;
    }
  }

  keep(session: KeptSession): void {
    this.#kept.add(session);
  }

  take(session: KeptSession): void {
    this.#kept.delete(session);
  }

  endKept(): void {
    for (const session of this.#kept) session.kill();
    this.#kept.clear();
  }

  #fits(needed: number): boolean {
    return this.#reserved === 0 || this.#reserved + needed <= this.#total();
  }

  #total(): number {
    return this.#sandbox.sessions ?? fewestSessions;
  }

  #makeRoom(): void {
    let tooMany = this.#open + 1 - this.#total();
    for (const session of this.#kept) {
      if (tooMany-- <= 0) return;
      this.#kept.delete(session);
      session.kill();
    }
  }
}

const known = new WeakMap<Sandbox, Sessions>();

/** Counts what a sandbox was asked. */
export function serviceOf({ service }: Sandbox): Service {
  return service ?? new Service("sandbox");
}

export function sessionsOf(sandbox: Sandbox): Pick<Sessions, "start" | "keep" | "take"> {
  return allOf(sandbox);
}

/** Ends the sessions that nobody uses at present. */
export function endKept(sandbox: Sandbox): void {
  allOf(sandbox).endKept();
}

/** Does the work once all its sessions are available. @param needed sessions that it has at the same time, at most */
export async function withSessions<Value>(
  sandbox: Sandbox,
  needed: number,
  work: () => Promise<Value>,
): Promise<Value> {
  const sessions = allOf(sandbox);
  await sessions.reserve(needed);
  try {
    return await work();
  } finally {
    sessions.release(needed);
  }
}

function allOf(sandbox: Sandbox): Sessions {
  // Sessions that were kept through another wrapper could not be told to give way: a new one would wait forever.
  const shared = sandbox.sessionsOf ?? sandbox;
  const sessions = known.get(shared) ?? new Sessions(shared);
  known.set(shared, sessions);
  return sessions;
}
