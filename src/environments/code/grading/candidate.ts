/**
 * The process of a model's program, as the tests use it: a call goes in, and the program's result comes out. A process
 * that does not answer in time is killed, and the next call gets a new one.
 */
import { setImmediate as turn } from "node:timers/promises";
import { z } from "zod";
import { pythonProgram } from "../python.ts";
import type { Sandbox, RunningProgram } from "../../../sandbox/sandbox.ts";
import { sessionsOf } from "../../../sandbox/sessions.ts";

export interface CandidateOptions {
  readonly sandbox: Sandbox;
  readonly program: string;
  /** Processor time for loading the program and for each call. Wall-clock time may be a few times as long. */
  readonly seconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** The line with which the program's process answered, unparsed; or why there is none. */
export type ProgramAnswer = { readonly reply: string } | { readonly lost: string };

export const candidateServer = pythonProgram("grading/values.py", "grading/candidate.py");

/** Calls lost to timeouts and ended processes after which no more are made. */
const mostLosses = 3;
/** The machine may be busy; a program that only waits is stopped by this. */
const wallSeconds = (seconds: number): number => 3 * seconds + 5;
/** For all calls together, in addition to the limit of each. */
const limits = { wallSeconds: 1800, cpuSeconds: 300, outputBytes: 2 ** 26 };
/** Lines that do not answer the call; a program may write to any of its file descriptors. */
const mostStrayLines = 1000;

export class Candidate {
  readonly #options: CandidateOptions;
  #running: Running | null = null;
  #losses = 0;
  #lost: string | null = null;

  constructor(options: CandidateOptions) {
    this.#options = options;
  }

  /** @param line a call as written by the grader, with this number */
  async call(line: string, number: number): Promise<ProgramAnswer> {
    if (this.#lost !== null) return { lost: this.#lost };
    const running = this.#running ?? (await this.#start());
    if (running === null) return { lost: this.#lost ?? "the program does not run" };
    running.session.send(line);
    const answer = await nextAnswer(running, number, wallSeconds(this.#options.seconds));
    if ("lost" in answer) this.#lose();
    return answer;
  }

  close(): void {
    this.#running?.session.kill();
    this.#running = null;
  }

  #lose(): void {
    this.close();
    if (++this.#losses >= mostLosses) {
      this.#lost = `not called: the program took too long or ended ${mostLosses} times before`;
    }
  }

  /** Null: the program cannot be loaded, and has no process. */
  async #start(): Promise<Running | null> {
    const { sandbox, program, seconds, signal } = this.#options;
    const session = await sessionsOf(sandbox).start(
      { language: "python", source: candidateServer, limits },
      signal,
    );
    const running = { session, lines: session.lines[Symbol.asyncIterator]() };
    this.#running = running;
    session.send(JSON.stringify({ program, seconds }));
    const loaded = await nextAnswer(running, 0, wallSeconds(seconds));
    const problem = "lost" in loaded ? loaded.lost : loadError(loaded.reply);
    if (problem === null) return running;
    this.#lost = `the program cannot be loaded: ${problem}`;
    this.close();
    return null;
  }
}

const loadSchema = z.object({ raises: z.string().optional(), message: z.string().default("") });

interface Running {
  readonly session: RunningProgram;
  readonly lines: AsyncIterator<string>;
}

async function nextAnswer(
  { session, lines }: Running,
  number: number,
  seconds: number,
): Promise<ProgramAnswer> {
  const prefix = `{"call": ${number}`;
  const deadline = new Deadline(seconds);
  try {
    for (let stray = 0; stray <= mostStrayLines; stray++) {
      const next = await deadline.race(lines.next());
      if (next === null) return { lost: `no answer within ${seconds} seconds` };
      if (next.done === true) return { lost: `the program's process ended (${(await session.ended).ended})` };
      const { value } = next;
      if (value.startsWith(prefix) && /[,}]/.test(value.charAt(prefix.length))) return { reply: value };
    }
    return { lost: "the program writes lines of its own in place of an answer" };
  } finally {
    deadline.clear();
  }
}

function loadError(reply: string): string | null {
  try {
    const { raises, message } = loadSchema.parse(JSON.parse(reply));
    return raises === undefined ? null : `${raises}: ${message}`.slice(0, 300);
  } catch {
    return "its process wrote something else than an answer";
  }
}

class Deadline {
  readonly #timer: NodeJS.Timeout;
  readonly #reached: Promise<null>;

  constructor(seconds: number) {
    const { promise, resolve } = Promise.withResolvers<null>();
    // If this process was busy, an answer that arrived in time may be waiting: it is read first.
    this.#timer = setTimeout(
      () =>
        void turn()
          .then(() => turn())
          .then(() => resolve(null)),
      seconds * 1000,
    );
    this.#reached = promise;
  }

  race<T>(promise: Promise<T>): Promise<T | null> {
    return Promise.race([promise, this.#reached]);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
