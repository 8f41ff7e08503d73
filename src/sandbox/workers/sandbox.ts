/** A sandbox of warm workers, shared by all backends with their own interpreters. */
import { Service } from "../../calls/services.ts";
import { TroupeError } from "../../errors.ts";
import type { Limits } from "../limits.ts";
import {
  cancelledResult,
  type Program,
  type ProgramResult,
  type Sandbox,
  type RunningProgram,
} from "../sandbox.ts";
import { untilOwn } from "../signals.ts";
import { lineQueue } from "./lines.ts";
import { Pool } from "./pool.ts";
import { requestFor, type Request } from "./request.ts";
import { Worker, type Launch, type Running } from "./worker.ts";

export interface WorkerSandboxOptions {
  readonly backend: string;
  readonly description: string;
  readonly launch: Launch;
  /** Concurrent programs; sessions have four times as many workers of their own. */
  readonly workers: number;
  /** Limits of programs that set none. */
  readonly limits: Limits;
  /** Counts programs and failures. Default: its own. */
  readonly service?: Service | undefined;
  /** Called after the workers have ended. */
  readonly clean?: () => Promise<void>;
}

/** Lines of a session that may wait to be read. */
const mostLines = 10_000;

export class WorkerSandbox implements Sandbox {
  readonly backend: string;
  readonly description: string;
  readonly sessions: number;
  readonly service: Service;
  readonly #options: WorkerSandboxOptions;
  readonly #pool: Pool;
  /** Separate from the others: sessions that wait for a run never hold the worker it needs. */
  readonly #sessions: Pool;

  constructor(options: WorkerSandboxOptions) {
    this.backend = options.backend;
    this.description = options.description;
    this.sessions = 4 * options.workers;
    this.service = options.service ?? new Service("sandbox");
    this.#options = options;
    const { service } = this;
    const start = (): Promise<Worker> => Worker.start(options.launch);
    this.#pool = new Pool({ size: options.workers, start, service });
    this.#sessions = new Pool({ size: this.sessions, start, service });
  }

  /** A worker, started now: what it found, or why it did not start. */
  async found(): Promise<Worker["found"]> {
    return (await this.#pool.warm()).found;
  }

  async run(program: Program, signal?: AbortSignal): Promise<ProgramResult> {
    const request = requestFor(program, false, this.#options.limits);
    try {
      const once = (): Promise<ProgramResult> =>
        this.#pool.use((worker) => ran(worker.run(request), signal), signal);
      return await untilOwn(once, ({ ended }) => ended === "signalled");
    } catch (error) {
      if (isCancelled(error) && signal?.aborted === true) return cancelledResult();
      throw error;
    }
  }

  async start(program: Program, signal?: AbortSignal): Promise<RunningProgram> {
    const request = requestFor(program, true, this.#options.limits);
    const worker = await this.#sessions.take(signal);
    return sessionOn(worker, request, signal, () => this.#sessions.giveBack(worker));
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#sessions.close()]);
    await this.#options.clean?.();
  }
}

async function ran(running: Running, signal: AbortSignal | undefined): Promise<ProgramResult> {
  signal?.addEventListener("abort", running.cancel);
  try {
    if (signal?.aborted === true) running.cancel();
    return await running.result;
  } finally {
    signal?.removeEventListener("abort", running.cancel);
  }
}

function sessionOn(
  worker: Worker,
  request: Request,
  signal: AbortSignal | undefined,
  giveBack: () => void,
): RunningProgram {
  const queue = lineQueue(mostLines);
  let flooded = false;
  const running = worker.run(request, (chunk) => {
    if (queue.push(chunk) || flooded) return;
    flooded = true;
    running.cancel();
  });
  const ended = ran(running, signal).finally(giveBack);
  const result = ended.then((one) => (flooded ? { ...one, ended: "output" as const } : one));
  result.then(
    () => queue.end(),
    (error: Error) => queue.end(error),
  );
  return {
    send: (line) => running.send(`${line.toWellFormed()}\n`),
    answerWithin: running.answerWithin,
    lines: queue.lines,
    ended: result,
    kill: running.cancel,
  };
}

function isCancelled(error: unknown): boolean {
  return error instanceof TroupeError && error.code === "cancelled";
}
