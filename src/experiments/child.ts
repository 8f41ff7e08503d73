/** Runs a cell in its own process, so that a crash is isolated and all memory is freed at its end. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { TrainEvent } from "../train/events.ts";

/** Starts `troupe` with arguments; provided by `src/cli`. */
export interface StartTroupe {
  readonly command: string;
  readonly arguments: readonly string[];
}

export type ChildOutcome =
  | { readonly status: "done"; readonly stdout: string }
  | { readonly status: "interrupted" }
  /** Another process is writing the run. */
  | { readonly status: "in-use" }
  | { readonly status: "failed"; readonly problem: string };

/** Longest error message kept, in characters. */
const longestMessage = 2000;

/** `troupe`'s exit codes of an interrupted run and of one that another process is writing. */
const interruptedCode = 130;
const inUseCode = 3;

export interface ChildOptions {
  readonly launch: StartTroupe;
  readonly arguments: readonly string[];
  /** Called with each event of a training. */
  readonly onEvent: (event: TrainEvent) => void;
  /** Aborted: the child is asked to stop, as by Ctrl-C; none is started. */
  readonly stop: AbortSignal;
}

/**
 * Runs one command to its end. The child is in its own process group: Ctrl-C reaches this process, which passes it on
 * once. If this process is killed, the child fails to write its next line, and ends too.
 */
export function runChild(options: ChildOptions): Promise<ChildOutcome> {
  // A listener that is added afterwards hears nothing of it.
  return options.stop.aborted ? Promise.resolve({ status: "interrupted" }) : startChild(options);
}

function startChild({ launch, arguments: given, onEvent, stop }: ChildOptions): Promise<ChildOutcome> {
  const child = spawn(launch.command, [...launch.arguments, ...given], {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const interrupt = (): void => void child.kill("SIGINT");
  stop.addEventListener("abort", interrupt);
  endWithThisProcess(child);
  const said = listen(child, onEvent);
  return new Promise((resolve) => {
    const end = (outcome: ChildOutcome): void => {
      stop.removeEventListener("abort", interrupt);
      alive.delete(child);
      resolve(outcome);
    };
    child.on("error", (error) => end({ status: "failed", problem: error.message }));
    child.on("close", (code, signal) => end(outcomeOf(code, signal, said, stop.aborted)));
  });
}

const alive = new Set<ChildProcess>();

function endWithThisProcess(child: ChildProcess): void {
  if (alive.size === 0) {
    process.off("exit", killAll);
    process.on("exit", killAll);
  }
  alive.add(child);
}

function killAll(): void {
  for (const child of alive) child.kill("SIGKILL");
}

interface Said {
  stdout: string;
  stderr: string;
}

/** Events are read line by line and dropped; anything else on stdout is the document that the command prints. */
function listen(child: ChildProcess, onEvent: ChildOptions["onEvent"]): Said {
  const said: Said = { stdout: "", stderr: "" };
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const event = eventOf(line);
      if (event === null) said.stdout += `${line}\n`;
      else onEvent(event);
    });
  }
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said.stderr = (said.stderr + text).slice(-longestMessage);
  });
  return said;
}

function eventOf(line: string): TrainEvent | null {
  if (!line.startsWith('{"type":')) return null;
  try {
    return JSON.parse(line) as TrainEvent;
  } catch {
    return null;
  }
}

function outcomeOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  said: Said,
  stopped: boolean,
): ChildOutcome {
  if (code === 0) return { status: "done", stdout: said.stdout };
  if (code === inUseCode) return { status: "in-use" };
  if (stopped && (code === interruptedCode || code === null)) return { status: "interrupted" };
  const message = said.stderr.trim().replace(/^error: /, "");
  if (signal !== null) {
    const memory = signal === "SIGKILL" ? "; the system does so when memory runs out" : "";
    return {
      status: "failed",
      problem: `ended by ${signal}${memory}${message === "" ? "" : `. ${message}`}`,
    };
  }
  return { status: "failed", problem: message === "" ? `ended with code ${code}` : message };
}
