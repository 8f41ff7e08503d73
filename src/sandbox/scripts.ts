/**
 * Trusted scripts that answer one request after another in a session. Starting Python and compiling a script takes
 * longer than most requests, so sessions are kept. Scripts keep no state between requests: they only parse, or fork for
 * each.
 */
import { answerOf, call, Fault } from "../calls/call.ts";
import { ServiceError } from "../errors.ts";
import type { ProgramResult, Sandbox, RunningProgram } from "./sandbox.ts";
import { type KeptSession, serviceOf, sessionsOf, withSessions } from "./sessions.ts";

export interface Script {
  send(line: string): void;
  readonly answerWithin: RunningProgram["answerWithin"];
  /** The next line; null: the session has ended. */
  next(): Promise<string | null>;
  /** How it ended, once `next` has returned null. */
  readonly ended: Promise<ProgramResult>;
  readonly kill: () => void;
}

/**
 * Memory, time and output accumulate: a session is replaced after this many requests or seconds, long before a limit, which
 * would end a request that has nothing to do with it.
 */
const [mostRequests, longestLife] = [50, 3600];
const limits = { wallSeconds: 3 * longestLife, cpuSeconds: 2 * longestLife, outputBytes: 2 ** 30 };

class RunningScript implements Script, KeptSession {
  readonly #session: RunningProgram;
  readonly #lines: AsyncIterator<string>;
  readonly #started = performance.now();
  requests = 0;
  hasEnded = false;

  constructor(session: RunningProgram) {
    this.#session = session;
    this.#lines = session.lines[Symbol.asyncIterator]();
    const end = (): void => void (this.hasEnded = true);
    session.ended.then(end, end);
  }

  get isUsable(): boolean {
    const seconds = (performance.now() - this.#started) / 1000;
    return !this.hasEnded && this.requests < mostRequests && seconds < longestLife;
  }

  get ended(): Promise<ProgramResult> {
    return this.#session.ended;
  }

  send(line: string): void {
    this.#session.send(line);
  }

  readonly answerWithin = (seconds: number | null): void => this.#session.answerWithin(seconds);

  async next(): Promise<string | null> {
    const { done, value } = await this.#lines.next();
    return done === true ? null : value;
  }

  readonly kill = (): void => {
    this.hasEnded = true;
    this.#session.kill();
  };
}

const idle = new WeakMap<Sandbox, Map<string, RunningScript[]>>();

/**
 * Lends a session that runs `source`. It is kept if the work succeeds, and ended if the work throws or is cancelled. The
 * caller has reserved the session (`withSessions`).
 * @throws ServiceError if the sandbox fails
 */
export async function withScript<T>(
  sandbox: Sandbox,
  source: string,
  signal: AbortSignal | undefined,
  work: (script: Script) => Promise<T>,
): Promise<T> {
  const sessions = sessionsOf(sandbox);
  const kept = keptOf(sandbox, source);
  const script = takeFrom(kept) ?? (await start(sandbox, source));
  sessions.take(script);
  signal?.addEventListener("abort", script.kill);
  try {
    if (signal?.aborted === true) script.kill();
    const result = await work(script);
    script.requests++;
    if (script.isUsable) {
      kept.push(script);
      sessions.keep(script);
    } else script.kill();
    return result;
  } catch (error) {
    script.kill();
    throw error;
  } finally {
    signal?.removeEventListener("abort", script.kill);
  }
}

async function start(sandbox: Sandbox, source: string): Promise<RunningScript> {
  const sessions = sessionsOf(sandbox);
  const script = new RunningScript(await sessions.start({ language: "python", source, limits }, undefined));
  const end = (): void => sessions.take(script);
  script.ended.then(end, end);
  return script;
}

function keptOf(sandbox: Sandbox, source: string): RunningScript[] {
  const bySource = idle.get(sandbox) ?? new Map<string, RunningScript[]>();
  idle.set(sandbox, bySource);
  const kept = bySource.get(source) ?? [];
  bySource.set(source, kept);
  return kept;
}

function takeFrom(kept: RunningScript[]): RunningScript | undefined {
  for (let script = kept.pop(); script !== undefined; script = kept.pop()) {
    if (script.isUsable) return script;
    script.kill();
  }
  return undefined;
}

/** Of a request that waits; one that computes has `cpuSeconds`. */
const mostSeconds = 60;

/** A request that was interrupted is repeated in fresh workers: by a failure, or by an end that may be its own doing. */
const twiceMore = { retries: 2, firstDelay: 0, longestDelay: 0 };

/**
 * One request to a script that answers each line of standard input with one line.
 * @returns null: what was asked ends the script three times, by a limit or a crash: it is the request's doing
 * @throws ServiceError if the sandbox fails, or the script ends by itself
 */
export async function askScript(
  sandbox: Sandbox,
  source: string,
  request: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const asked = (): Promise<string> =>
    withSessions(sandbox, 1, () =>
      withScript(sandbox, source, signal, (script) => lineFrom(script, request)),
    );
  const outcome = await call(serviceOf(sandbox), asked, { signal, retries: twiceMore });
  return outcome.fault === undefined ? answerOf(outcome) : null;
}

async function lineFrom(script: Script, request: string): Promise<string> {
  script.send(request);
  script.answerWithin(mostSeconds);
  const line = await script.next();
  script.answerWithin(null);
  if (line !== null) return line;
  const { ended, stderr } = await script.ended;
  const problem = `a script of the sandbox gave no answer (${ended}) ${stderr.slice(-300)}`.trim();
  throw ended === "exited" ? new ServiceError(problem) : new Fault(problem);
}
