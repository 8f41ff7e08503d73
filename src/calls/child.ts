/**
 * A program that a user names, in its own process group, so that everything it starts can be killed with it, also if this
 * process is killed. Its output is read line by line, with bounds on everything.
 */
import { spawn } from "node:child_process";
import type { ChildProcess, ChildProcessWithoutNullStreams as Child } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";

export interface Group {
  readonly child: Child;
  /** Kills the whole group. @param problem the result of `ended`; null: nothing is wrong. The first call counts. */
  readonly kill: (problem: string | null) => void;
  /** What is wrong with how it ended; null: nothing. Never rejects. */
  readonly ended: Promise<string | null>;
}

export interface GroupOptions {
  /** The program, looked up as in a shell, and its arguments. */
  readonly run: readonly [string, ...string[]];
  /** Its working directory. */
  readonly directory: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** It has a fourth pipe, `child.stdio[3]`, which it writes to. */
  readonly hasFourth?: boolean;
}

/** Time for pipes to close after the program has ended, in milliseconds: its descendants may hold them. */
const grace = 1000;

/** An error: it could not be started. */
export function startGroup({ run, directory, env, hasFourth = false }: GroupOptions): Group | Error {
  const [command, ...given] = run;
  const stdio = Array.from({ length: hasFourth ? 4 : 3 }, () => "pipe" as const);
  let child: Child;
  try {
    child = spawn(command, given, { cwd: directory, env, stdio, detached: true });
  } catch (error) {
    return error as Error;
  }
  let reason: string | null | undefined;
  const kill = (problem: string | null): void => {
    if (reason === undefined) reason = problem;
    killAllOf(child);
  };
  keepTrackOf(child);
  return { child, kill, ended: endOf(child).then((problem) => (reason === undefined ? problem : reason)) };
}

/** Resolves when the program has ended and its pipes are closed. */
function endOf(child: Child): Promise<string | null> {
  return new Promise((resolve) => {
    child.on("error", ({ message }) => resolve(`it could not be started: ${message}`));
    child.on("exit", () => {
      killAllOf(child);
      setTimeout(() => closePipes(child), grace).unref();
    });
    child.on("close", (code, signal) => resolve(describeEnd(code, signal)));
  });
}

function describeEnd(code: number | null, signal: NodeJS.Signals | null): string | null {
  if (signal !== null) return `it was terminated by ${signal}`;
  return code === 0 ? null : `it exited with code ${code}`;
}

function closePipes({ stdin, stdout, stderr }: Child): void {
  for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
}

function killAllOf({ pid }: Child): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The whole group has ended.
  }
}

const alive = new Set<Child>();

function keepTrackOf(child: Child): void {
  if (alive.size === 0) process.on("exit", killEverything);
  alive.add(child);
  if (child.pid !== undefined) tellGuard(`+${child.pid}`);
  const forget = (): void => {
    if (!alive.delete(child)) return;
    if (child.pid !== undefined) tellGuard(`-${child.pid}`);
    if (alive.size === 0) process.off("exit", killEverything);
  };
  child.on("exit", forget).on("error", forget);
}

/** Reads which groups there are. When the pipe ends, this process has, and nobody else would end those that are left. */
const guarding = `
trap "" HUP INT TERM
all=
while read -r line; do
  group=\${line#?}
  case $line in
    +*) all="$all $group" ;;
    -*) rest=; for one in $all; do [ "$one" = "$group" ] || rest="$rest $one"; done; all=$rest ;;
  esac
done
for group in $all; do kill -s KILL -- "-$group"; done
`;

let guard: ChildProcess | null = null;

/** SIGKILL gives no time to end programs. On a system without a shell they then go on. */
function tellGuard(line: string): void {
  if (guard === null) {
    guard = spawn("/bin/sh", ["-c", guarding], {
      detached: true,
      env: {},
      stdio: ["pipe", "ignore", "ignore"],
    });
    guard.on("error", () => {}).on("exit", () => (guard = null));
    guard.stdin?.on("error", () => {});
    // Neither keeps this process from ending.
    guard.unref();
    (guard.stdin as Socket | null)?.unref();
    for (const { pid } of alive) if (`+${pid}` !== line) guard.stdin?.write(`+${pid}\n`);
  }
  guard.stdin?.write(`${line}\n`);
}

function killEverything(): void {
  for (const child of alive) killAllOf(child);
}

/** In characters; all lines together may have 16 times as many. */
const longestLine = 2 ** 20;
const longestOutput = 16 * longestLine;
const mostStrange = 1000;

/**
 * Passes on every line that is not empty; the last one needs no line feed.
 * @param hear returns whether the line was expected
 * @param flooded called with the exceeded bound; nothing is passed on afterwards
 */
export function hearLines(
  stream: Readable,
  hear: (line: string) => boolean,
  flooded: (problem: string) => void,
): void {
  let [line, total, strange, isOver] = ["", 0, 0, false];
  const give = (lines: readonly string[]): void => {
    for (const one of lines) {
      if (strange > mostStrange) return;
      if (one.trim() !== "" && !hear(one)) strange++;
    }
  };
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    // Read to the end: a full pipe must not block a program that is being killed.
    if (isOver) return;
    total += chunk.length;
    const parts = (line + chunk).split("\n");
    line = parts.pop() ?? "";
    give(parts);
    const problem = tooMuch({ line: line.length, total, strange });
    if (problem === null) return;
    isOver = true;
    flooded(problem);
  });
  stream.on("end", () => {
    if (!isOver) give([line]);
  });
}

function tooMuch({
  line,
  total,
  strange,
}: Readonly<Record<"line" | "total" | "strange", number>>): string | null {
  if (line > longestLine) return "it wrote a line of more than a million characters";
  if (total > longestOutput) return "it wrote more than 16 million characters";
  return strange > mostStrange ? `it wrote more than ${mostStrange} lines that are not answers` : null;
}

/** The last characters of a stream, as far as it was read. */
export function hearLast(stream: Readable, characters: number): () => string {
  let last = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    last = (last + chunk).slice(-characters);
  });
  return () => last;
}
