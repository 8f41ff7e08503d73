/**
 * One start of a program that is not trusted: it is given its input, and what it writes is heard line by line. Where it
 * stalls, floods or is no longer needed, it is killed with everything that it started.
 */
import { TroupeError } from "../../errors.ts";
import { hearLast, hearLines } from "./bounded-lines.ts";
import { startGroup, type Group, type GroupOptions } from "./process-group.ts";

export interface Program extends GroupOptions {
  /** How long it may go without a line of the kind that it is started for. */
  readonly timeoutSeconds: number;
}

export interface ProgramEnd {
  /** Why it was killed, or how else it ended badly; null: it ended well. */
  readonly problem: string | null;
  /** The last of what it wrote there, as it is. */
  readonly stderr: string;
}

/** Whether a line is none of those that the program is started for, one of them, or the last. */
export type Heard = "nothing" | "more" | "last";

const longestErrors = 2000;

/** For a program to end after its last line, in milliseconds. */
const grace = 1000;

/**
 * Gives the program its input and hears all lines until it has ended.
 * @throws TroupeError `cancelled` where the signal aborts
 */
export async function runProgram(
  program: Program,
  input: string,
  hear: (line: string) => Heard,
  signal?: AbortSignal,
): Promise<ProgramEnd> {
  const end = signal?.aborted === true ? null : await startAndHear(program, input, hear, signal);
  if (end !== null && signal?.aborted !== true) return end;
  throw cancelled();
}

export function cancelled(): TroupeError {
  return new TroupeError("cancelled", "judging was cancelled");
}

async function startAndHear(
  program: Program,
  input: string,
  hear: (line: string) => Heard,
  signal: AbortSignal | undefined,
): Promise<ProgramEnd> {
  const group = startGroup(program);
  if (group instanceof Error) return { problem: `it could not be started: ${group.message}`, stderr: "" };
  const { child } = group;
  using clock = clockFor(group, program.timeoutSeconds);
  const stderr = hearLast(child.stderr, longestErrors);
  hearLines(child.stdout, (line) => clock.heard(hear(line)), group.kill);
  // It may never read, or end before it has read everything; its answers show both.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const cancel = (): void => group.kill("it was cancelled");
  signal?.addEventListener("abort", cancel);
  const problem = await group.ended;
  signal?.removeEventListener("abort", cancel);
  return { problem, stderr: stderr() };
}

/** Kills a program that gives no further line of its kind in time, or does not end after the last. Passes on what it heard. */
function clockFor({ kill }: Group, seconds: number): Disposable & { heard(what: Heard): boolean } {
  const limit = setTimeout(() => kill(`it gave no further answer within ${seconds} seconds`), 1000 * seconds);
  let end: NodeJS.Timeout | undefined;
  return {
    heard(what) {
      if (what === "more") limit.refresh();
      if (what === "last") end ??= setTimeout(() => kill(null), grace);
      return what !== "nothing";
    },
    [Symbol.dispose]: () => {
      clearTimeout(limit);
      clearTimeout(end);
    },
  };
}
