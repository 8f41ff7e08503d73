/**
 * Runs untrusted programs, written by models. What a program does is data; a failing backend is a `ServiceError`.
 * docs/sandbox.md says what is contained, by what, and what is not.
 */
import type { Service } from "../calls/services.ts";
import type { Limits } from "./limits.ts";
import type { PackageSet } from "./packages/sets.ts";

export type { Limits } from "./limits.ts";

export interface Program {
  readonly language: "python";
  /** The main file. It runs as `__main__` in a new workspace, which is its working directory. */
  readonly source: string;
  /** Input files by path in the workspace, `data/cases.json`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** Its whole standard input. Default: none. In a session, what precedes the first line sent. */
  readonly stdin?: string;
  readonly arguments?: readonly string[];
  /** Files to return: paths in the workspace, with `*`, `**` and `?`. Default: none. */
  readonly outputs?: readonly string[];
  readonly limits?: Partial<Limits>;
  /**
   * The packages it may import besides the standard library, which `troupe sandbox install` has installed. Default:
   * those of the sandbox's own interpreter.
   */
  readonly packages?: PackageSet;
}

/**
 * How a program ended: `exited` and `signalled` on its own, `cancelled` by the caller, otherwise by a limit. `memory`
 * and `disk` also if an uncaught error says that these ran out.
 */
export type Ending =
  | "exited"
  | "signalled"
  | "wall-time"
  | "cpu-time"
  | "memory"
  | "output"
  | "disk"
  | "cancelled";

export interface ProgramResult {
  readonly ended: Ending;
  /** If it exited, or would have except for `memory` and `disk`. */
  readonly exitCode: number | null;
  /** `SIGSEGV`; if a signal ended it. */
  readonly signal: string | null;
  /**
   * At most the first `outputBytes`; `ended: "output"` if there was more. Invalid UTF-8 is replaced. Of a session, what
   * follows the lines that were passed on.
   */
  readonly stdout: string;
  readonly stderr: string;
  /** The files matching `outputs`, regular files only, at most `diskBytes` in total. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Wall-clock time. */
  readonly seconds: number;
  /** Processor time of all its processes. Absent: the backend does not say. */
  readonly cpuSeconds?: number;
  /** The most memory observed in use by its processes at once. */
  readonly peakBytes: number;
}

/** A running program that exchanges lines with the caller. */
export interface RunningProgram {
  /** A line of its standard input, without line feed. Ignored once it has ended. Ends the wait for an answer. */
  send(line: string): void;
  /**
   * Ends it with `wall-time` once so many seconds have passed since the last line was sent, not counting those in which
   * the machine was busy with other work; null: it has answered.
   */
  answerWithin(seconds: number | null): void;
  /**
   * Lines of its standard output, without line feeds; can be iterated once. A program that floods it ends with
   * `output`.
   */
  readonly lines: AsyncIterable<string>;
  /** Rejects, like `lines`, with a ServiceError if the backend fails. */
  readonly ended: Promise<ProgramResult>;
  /** Ends it with `cancelled`. */
  kill(): void;
}

export interface Sandbox {
  /** `bubblewrap`, `launcher`, `container`, `sandboxfusion`. */
  readonly backend: string;
  /** The isolation and the interpreter, for people. */
  readonly description?: string;
  /**
   * Waits for a free worker. An aborted signal ends the program, or the wait, with `cancelled`.
   * @throws TroupeError `bad_arguments` for an invalid path or limit; ServiceError if the backend failed in spite of
   * retries
   */
  run(program: Program, signal?: AbortSignal): Promise<ProgramResult>;
  /** Concurrent sessions; a piece of work that needs several must not need more. Absent: at least four. */
  readonly sessions?: number | undefined;
  /** Whose sessions these are: those of one sandbox are divided once, whatever surrounds it. Absent: its own. */
  readonly sessionsOf?: Sandbox | undefined;
  /** @throws TroupeError `unsupported` if this backend can only run programs from start to end */
  start(program: Program, signal?: AbortSignal): Promise<RunningProgram>;
  /** Counts what it was asked, and failures. */
  readonly service?: Service | undefined;
  /** Ends all programs and workers. */
  close(): Promise<void>;
}

/** The result of a program that was never started, or was cancelled. */
export function cancelledResult(): ProgramResult {
  const nothing = { exitCode: null, signal: null, stdout: "", stderr: "", files: {} };
  return { ended: "cancelled", ...nothing, seconds: 0, peakBytes: 0 };
}
