/**
 * One start of an untrusted program: it gets its input, and its output is read line by line. If it stalls, floods or is
 * no longer needed, it is killed with everything it started.
 */
import { hearLast, hearLines, startGroup, type Group, type GroupOptions } from "../../calls/child.ts";
import { TroupeError } from "../../errors.ts";

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

export interface BatchLimits {
  /** Most batches answered at once. */
  readonly concurrency: number;
  /** Most items in a batch. */
  readonly batch: number;
}

/**
 * A function that answers one item. While all slots are taken, items wait, and the next batch takes as many of them as
 * allowed.
 * @param answer answers a batch, in order; if it rejects, so does every item of the batch
 */
export function batched<Item, Answer>(
  { concurrency, batch }: BatchLimits,
  answer: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (item: Item) => Promise<Answer> {
  const waiting: { readonly item: Item; readonly given: PromiseWithResolvers<Answer> }[] = [];
  let running = 0;

  const answerNext = async (): Promise<void> => {
    const taken = waiting.splice(0, batch);
    try {
      const answers = await answer(taken.map(({ item }) => item));
      for (const [index, { given }] of taken.entries()) given.resolve(answers[index] as Answer);
    } catch (error) {
      for (const { given } of taken) given.reject(error);
    }
  };
  const fill = (): void => {
    while (running < concurrency && waiting.length > 0) {
      running++;
      void answerNext().finally(() => {
        running--;
        fill();
      });
    }
  };
  return (item) => {
    const given = Promise.withResolvers<Answer>();
    waiting.push({ item, given });
    // Deferred: questions of the same moment belong in one batch.
    setImmediate(fill);
    return given.promise;
  };
}
