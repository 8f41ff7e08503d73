/** One warm interpreter in its sandbox: a process that runs one program at a time. */
import { spawn, type ChildProcessWithoutNullStreams as Child } from "node:child_process";
import { ServiceError } from "../../errors.ts";
import type { ProgramResult } from "../sandbox.ts";
import { decodeResult, decodeWith, encodeFrame, FrameReader, type Frame } from "./frames.ts";
import type { Request } from "./request.ts";

/** A worker that a signal ended, or that the machine had no room for: another one may work. */
export class LostWorker extends ServiceError {}

/** How a worker is started. */
export interface Launch {
  readonly command: string;
  readonly arguments: readonly string[];
  /** Its whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The user it becomes if Troupe runs as root. */
  readonly user?: number;
  /** The settings of the zygote, which depend on the machine. */
  settings(machine: string): WorkerSettings;
}

export interface WorkerSettings {
  /** Whether each program gets its own namespaces; otherwise it can only start threads. */
  readonly namespaces: boolean;
  /** The seccomp filter, in base64. */
  readonly filter: string;
  /** What Landlock lets programs read. */
  readonly readable: readonly string[];
  /** Folder for workspaces, if there are no namespaces. */
  readonly scratch: string;
  /** Modules imported before any program starts, besides those of the standard library. Default: none. */
  readonly imports?: readonly string[];
  /** Environment variables of the worker and of its programs, besides the usual. Default: none. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** What a worker found on its machine. */
export interface WorkerMachine {
  readonly python: string;
  readonly machine: string;
  /** Version of Landlock; 0: none. */
  readonly landlock: number;
  /** Whether limits on processor time and memory apply to all processes of a program together. */
  readonly proc: boolean;
}

export interface Running {
  readonly result: Promise<ProgramResult>;
  readonly send: (text: string) => void;
  readonly answerWithin: (seconds: number | null) => void;
  readonly cancel: () => void;
}

/** Milliseconds for a worker to start, and to answer a ping or a cancellation; between pings. */
const [startTimeout, grace, betweenPings] = [120_000, 20_000, 10_000];
const longestFrame = 2 ** 31;
const longestErrors = 2000;

interface Watch {
  readonly heard: () => void;
  readonly end: () => void;
}

interface Current {
  readonly run: number;
  readonly watch: Watch;
  readonly hear: (chunk: Buffer) => void;
  readonly resolve: (result: ProgramResult) => void;
  readonly reject: (error: Error) => void;
}

export class Worker {
  readonly found: WorkerMachine;
  readonly #child: Child;
  readonly #failed: Promise<never>;
  #current: Current | null = null;
  #runs = 0;
  #closing = false;
  #dead: ServiceError | null = null;

  /** @throws ServiceError if it does not start */
  static async start(launch: Launch): Promise<Worker> {
    const child = spawnFor(launch);
    const failed = failureOf(child);
    const timer = setTimeout(() => child.kill("SIGKILL"), startTimeout);
    try {
      const frames = framesOf(child);
      const [hello] = await Promise.race([frames.next(), failed]);
      const { python, machine } = metaOf(hello) as Pick<WorkerMachine, "python" | "machine">;
      child.stdin.write(encodeFrame("I", 0, Buffer.from(JSON.stringify(launch.settings(machine)))));
      const [ready] = await Promise.race([frames.next(), failed]);
      const found = metaOf(ready) as Pick<WorkerMachine, "landlock" | "proc">;
      return new Worker(child, failed, frames, { python, machine, ...found });
    } catch (error) {
      child.kill("SIGKILL");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(child: Child, failed: Promise<never>, frames: Frames, found: WorkerMachine) {
    this.#child = child;
    this.#failed = failed;
    this.found = found;
    frames.listen((frame) => this.#take(frame));
    this.#failed.catch((error: ServiceError) => this.#fail(error));
    this.#keepAlive(false);
  }

  /** Why it can run nothing more; null: it can. */
  get dead(): ServiceError | null {
    return this.#dead;
  }

  /** One program at a time. @param hear gets whole lines of standard output, if the request is a session */
  run({ payload }: Request, hear: (chunk: Buffer) => void = () => {}): Running {
    const run = (this.#runs = (this.#runs + 1) % 2 ** 32);
    this.#keepAlive(true);
    const watch = this.#watch(run);
    const result = new Promise<ProgramResult>((resolve, reject) => {
      if (this.#dead !== null) return reject(this.#dead);
      this.#current = { run, hear, resolve, reject, watch };
      this.#write("R", run, payload);
    }).finally(() => {
      watch.end();
      this.#keepAlive(false);
    });
    return {
      result,
      send: (text) => this.#write("S", run, Buffer.from(text)),
      answerWithin: (seconds) => this.#write("T", run, Buffer.from(seconds === null ? "" : String(seconds))),
      cancel: () => {
        if (this.#current?.run === run) this.#write("C", run, Buffer.alloc(0));
      },
    };
  }

  kill(): void {
    this.#dead ??= new ServiceError("A sandbox was killed.");
    this.#child.kill("SIGKILL");
  }

  /** Kills it and waits for its end. */
  async close(): Promise<void> {
    this.#keepAlive(true);
    this.#closing = true;
    this.kill();
    await this.#failed.catch(() => {});
  }

  #write(kind: string, run: number, payload: Uint8Array): void {
    if (this.#dead === null) this.#child.stdin.write(encodeFrame(kind, run, payload));
  }

  #take({ kind, run, payload }: Frame): void {
    const current = this.#current;
    if (current === null || current.run !== run) return;
    if (kind === "L") return current.hear(payload);
    if (kind === "P") return current.watch.heard();
    this.#current = null;
    if (kind === "E") return current.resolve(decodeResult(payload));
    const { message } = metaOf({ kind, run, payload }) as { message: string };
    current.reject(new ServiceError(`The sandbox could not run a program: ${message}.`));
    // The next try has a fresh worker.
    this.kill();
  }

  #fail(error: ServiceError): void {
    this.#dead ??= error;
    this.#current?.reject(error);
    this.#current = null;
  }

  /** The worker itself ends programs at their limits. One that does not answer is killed: somebody has stopped it. */
  #watch(run: number): Watch {
    let timer: NodeJS.Timeout;
    const ping = (): void => {
      this.#write("P", run, Buffer.alloc(0));
      timer = setTimeout(() => this.kill(), grace);
    };
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(ping, betweenPings);
    };
    wait();
    return { heard: wait, end: () => clearTimeout(timer) };
  }

  /** An idle worker does not keep Node running; one that is being closed does, until it has ended. */
  #keepAlive(busy: boolean): void {
    if (this.#closing) return;
    const { stdin, stdout, stderr } = this.#child;
    for (const one of [this.#child, stdin, stdout, stderr] as unknown as { ref(): void; unref(): void }[])
      if (busy) one.ref();
      else one.unref();
  }
}

function spawnFor({ command, arguments: given, environment, user }: Launch): Child {
  // In its own group: Troupe handles Ctrl-C and ends programs in order.
  const options = { cwd: "/", env: { ...environment }, stdio: "pipe", detached: true } as const;
  return spawn(command, given, user === undefined ? options : { ...options, uid: user, gid: user });
}

/** Rejects when the worker has ended, for any reason. */
function failureOf(child: Child): Promise<never> {
  const failed = new Promise<never>((_, reject) => {
    let errors = "";
    child.stderr.on("data", (text: Buffer) => {
      errors = (errors + text.toString("utf8")).slice(-longestErrors);
    });
    child.stdin.on("error", () => {});
    child.on("error", (error: NodeJS.ErrnoException) => {
      const Kind = isLacking(error) ? LostWorker : ServiceError;
      reject(new Kind(`A sandbox could not be started: ${error.message}.`));
    });
    child.on("exit", () => killGroupOf(child));
    child.on("close", (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      const said = errors.trim() === "" ? "" : `: ${errors.trim()}`;
      // What starts a worker ends with 128 + 9 if SIGKILL ended that.
      const isKilled = signal !== null || (code ?? 0) > 128;
      const Kind = isKilled ? LostWorker : ServiceError;
      reject(new Kind(`A sandbox ended unexpectedly (${how})${said}`));
    });
  });
  failed.catch(() => {});
  return failed;
}

/**
 * What starts a worker may be ended before the worker ends with it: left behind, that would hold the pipes open for ever,
 * and nobody would hear of the end.
 */
function killGroupOf({ pid }: Child): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left, or it runs as somebody else.
  }
}

/** Whether the machine lacks something that it may have later. */
export function isLacking({ code }: NodeJS.ErrnoException): boolean {
  return ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(code ?? "");
}

interface Frames {
  next(): Promise<[Frame]>;
  listen(take: (frame: Frame) => void): void;
}

/** The frames of a worker, first awaited one by one, then listened to. */
function framesOf(child: Child): Frames {
  const reader = new FrameReader(longestFrame);
  const waiting: Frame[] = [];
  let take = (frame: Frame): void => {
    waiting.push(frame);
  };
  child.stdout.on("data", (chunk: Buffer) => {
    try {
      for (const frame of reader.push(chunk)) take(frame);
    } catch {
      child.kill("SIGKILL");
    }
  });
  return {
    next: () =>
      new Promise((resolve) => {
        const first = waiting.shift();
        if (first !== undefined) return resolve([first]);
        const before = take;
        take = (frame) => {
          take = before;
          resolve([frame]);
        };
      }),
    listen: (listener) => {
      take = listener;
      for (const frame of waiting.splice(0)) listener(frame);
    },
  };
}

function metaOf({ payload }: Frame): unknown {
  return decodeWith(payload).meta;
}
