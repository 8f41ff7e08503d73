/**
 * One start of an untrusted program: it gets its input, and its output is read line by line. If it stalls, floods or is
 * no longer needed, it is killed with everything it started.
 */
import { TroupeError } from "../../errors.ts";
import { hearLast, hearLines, startGroup, type Group, type GroupOptions } from "../../calls/child.ts";

export interface JudgeProgram extends GroupOptions {
  /** How long it may run without an expected line. */
  readonly timeoutSeconds: number;
}

export interface ProgramEnd {
  /** Why it was killed, or what else is wrong with how it ended; null: nothing. */
  readonly problem: string | null;
  /** The last of its stderr, verbatim. */
  readonly stderr: string;
}

/** Whether a line is unexpected, expected, or the last expected one. */
export type Heard = "nothing" | "more" | "last";

const longestErrors = 2000;

/** Time to exit after the last expected line, in milliseconds. */
const grace = 1000;

/**
 * Gives the program its input and reads all lines until it has ended.
 * @throws TroupeError `cancelled` if the signal aborts
 */
export async function runProgram(
  program: JudgeProgram,
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
  program: JudgeProgram,
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
  // It may never read, or end before it has read everything; its answers reveal both.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const cancel = (): void => group.kill("it was cancelled");
  signal?.addEventListener("abort", cancel);
  const problem = await group.ended;
  signal?.removeEventListener("abort", cancel);
  return { problem, stderr: stderr() };
}

/** Kills a program that writes no expected line in time, or does not exit after the last. Passes on the lines. */
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
