/**
 * The process of a model's program, as the tests use it: a call goes in, and the program's result comes out. A process
 * that does not answer in time ends, and the next call gets a new one.
 */
import { z } from "zod";
import { pythonProgram } from "../python.ts";
import type { ProgramResult, RunningProgram, Sandbox } from "../../../sandbox/sandbox.ts";
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

/** Calls lost to limits and ended processes after which no more are made. */
const mostLosses = 3;
/** For a call that waits for something; one that computes ends by its processor time. */
const wallSeconds = (seconds: number): number => 3 * seconds + 5;
/** Processor time of all calls together. */
const allSeconds = (seconds: number): number => 4 * seconds + 30;
/** Lines that do not answer the call; a program may write to any of its file descriptors. */
const mostStrayLines = 1000;

export class Candidate {
  readonly #options: CandidateOptions;
  #running: Running | null = null;
  #losses = 0;
  /** Processor time of processes that have ended. */
  #spent = 0;
  #lost: string | null = null;
  #isSignalled = false;

  constructor(options: CandidateOptions) {
    this.#options = options;
  }

  /** Whether a signal has ended one of its processes: who sent it is not known. */
  get isSignalled(): boolean {
    return this.#isSignalled;
  }

  /**
   * @param line a call as written by the grader, with this number
   * @throws ServiceError if the sandbox fails
   */
  async call(line: string, number: number): Promise<ProgramAnswer> {
    if (this.#lost !== null) return { lost: this.#lost };
    const running = this.#running ?? (await this.#start());
    if (running === null) return { lost: this.#lost ?? "the program does not run" };
    running.session.send(line);
    const answer = await nextAnswer(running, number, wallSeconds(this.#options.seconds));
    if ("lost" in answer) await this.#lose(running);
    return answer;
  }

  close(): void {
    this.#running?.session.kill();
    this.#running = null;
  }

  async #lose({ session }: Running): Promise<void> {
    this.close();
    const { ended, cpuSeconds = 0 } = await session.ended;
    this.#isSignalled ||= ended === "signalled";
    this.#spent += cpuSeconds;
    // One that waits would hold its worker as long again each time.
    this.#losses += ended === "wall-time" ? mostLosses : 1;
    const all = allSeconds(this.#options.seconds);
    if (this.#losses >= mostLosses) this.#lost = "not called: the program took too long, or ended, before";
    else if (this.#spent >= all) this.#lost = `not called: the program has used ${all} seconds in all`;
  }

  /** Null: the program cannot be loaded, and has no process. */
  async #start(): Promise<Running | null> {
    const { sandbox, program, seconds, signal } = this.#options;
    const all = allSeconds(seconds);
    // Besides what it computes, all its calls together may wait for half a minute.
    const limits = { cpuSeconds: all - this.#spent, wallSeconds: all + 30, outputBytes: 2 ** 26 };
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
    if ("lost" in loaded) await this.#lose(running);
    else this.close();
    this.#lost = `the program cannot be loaded: ${problem}`;
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
  session.answerWithin(seconds);
  for (let stray = 0; stray <= mostStrayLines; stray++) {
    const { done, value } = await lines.next();
    if (done === true) return { lost: whyEnded(await session.ended, seconds) };
    if (value.startsWith(prefix) && /[,}]/.test(value.charAt(prefix.length))) {
      session.answerWithin(null);
      return { reply: value };
    }
  }
  return { lost: "the program writes lines of its own in place of an answer" };
}

function whyEnded({ ended }: ProgramResult, seconds: number): string {
  return ended === "wall-time"
    ? `no answer within ${seconds} seconds`
    : `the program's process ended (${ended})`;
}

function loadError(reply: string): string | null {
  try {
    const { raises, message } = loadSchema.parse(JSON.parse(reply));
    return raises === undefined ? null : `${raises}: ${message}`.slice(0, 300);
  } catch {
    return "its process wrote something else than an answer";
  }
}
