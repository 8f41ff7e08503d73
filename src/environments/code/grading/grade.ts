/**
 * Grades a program with a problem's tests. The tests run in one sandboxed process, the program in another, and this
 * file passes the calls between them. The process that decides never executes the model's code, and it compares plain
 * values, so a program can only pass a test by returning what the test expects.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { CodeTests } from "../../../data/problem.ts";
import { pythonProgram } from "../python.ts";
import { answerOf, call } from "../../../calls/call.ts";
import type { RunningProgram, Sandbox } from "../../../sandbox/sandbox.ts";
import { untilOwn } from "../../../sandbox/signals.ts";
import { serviceOf, sessionsOf, withSessions } from "../../../sandbox/sessions.ts";
import { Candidate, candidateServer } from "./candidate.ts";
import { jsonOrNull } from "../../../json.ts";

export interface GradeRequest {
  readonly program: string;
  readonly tests: CodeTests;
  readonly entryPoint: string;
  /** Trusted helpers and imports of the prompt, for the tests. */
  readonly preamble: string;
  /** For each call of the program. */
  readonly seconds: number;
}

export interface TestReport {
  /** In the order of the tests' source. */
  readonly tests: readonly TestResult[];
  /** Why the tests could not run to their end, such as a mistake in them; null: they did. */
  readonly problem: string | null;
}

export type TestResult = {
  /** The test as code, with the function's own name. */
  readonly text: string;
  readonly passed: boolean;
  /** Why it failed; null: it passed. */
  readonly error: string | null;
};

const grader = pythonProgram("grading/values.py", "grading/grader.py");

/** Identifies the scripts that a report depends on besides its request. */
export const graderDigest = createHash("sha256").update(grader).update(candidateServer).digest("hex");

const testResult = z.object({ text: z.string(), passed: z.boolean(), error: z.string().nullable() });
export const reportSchema = z.object({ tests: z.array(testResult), problem: z.string().nullable() });
const reportLine = z.object({ verdict: reportSchema });
const callSchema = z.object({ call: z.int() });

/** The tests, and the program. */
const sessionsNeeded = 2;

/**
 * What the tests themselves may use. What a program returns can be slow to read and to compare: numbers with equal
 * hashes in a set, or a range that no loop ends. They wait while the program runs, which has limits of its own.
 */
const limits = { cpuSeconds: 30, wallSeconds: 3600, outputBytes: 2 ** 28 };

/** A grading that a failure has interrupted is repeated once, from its beginning and in fresh workers. */
const onceMore = { retries: 1, firstDelay: 0, longestDelay: 0 };

/** @throws ServiceError if the sandbox fails; anything tests or program do is in the report */
export async function gradeWithPython(
  sandbox: Sandbox,
  request: GradeRequest,
  signal?: AbortSignal,
): Promise<TestReport> {
  const once = (isLast: boolean): Promise<Graded> =>
    withSessions(sandbox, sessionsNeeded, () => gradeOnce(sandbox, request, isLast, signal));
  const asked = async (isLast: boolean): Promise<Graded> =>
    answerOf(await call(serviceOf(sandbox), () => once(isLast), { signal, retries: onceMore }));
  const { report } = await untilOwn(asked, ({ isSignalled }) => isSignalled);
  return report;
}

interface Graded {
  readonly report: TestReport;
  /** Whether a signal has ended the tests, or the program. */
  readonly isSignalled: boolean;
}

/** @param isLast otherwise the first signal ends it, because it will be repeated */
async function gradeOnce(
  sandbox: Sandbox,
  request: GradeRequest,
  isLast: boolean,
  signal: AbortSignal | undefined,
): Promise<Graded> {
  const { program, seconds } = request;
  const candidate = new Candidate({ sandbox, program, seconds, signal });
  try {
    const tests = await sessionsOf(sandbox).start({ language: "python", source: grader, limits }, signal);
    try {
      return await reportFrom(tests, request, candidate, isLast);
    } finally {
      tests.kill();
    }
  } finally {
    candidate.close();
  }
}

async function reportFrom(
  session: RunningProgram,
  { tests, entryPoint, preamble }: GradeRequest,
  candidate: Candidate,
  isLast: boolean,
): Promise<Graded> {
  session.send(JSON.stringify({ tests, entryPoint, preamble }));
  for await (const line of session.lines) {
    const message = jsonOrNull(line);
    const report = reportLine.safeParse(message).data?.verdict;
    if (report !== undefined) return { report, isSignalled: candidate.isSignalled };
    const asked = callSchema.safeParse(message);
    if (asked.success) session.send(JSON.stringify(await candidate.call(line, asked.data.call)));
    if (candidate.isSignalled && !isLast)
      return { report: brokenOff("a signal ended the program"), isSignalled: true };
  }
  const { ended, exitCode } = await session.ended;
  const how = ended === "exited" ? `with exit code ${exitCode}` : `by its limit: ${ended}`;
  const isSignalled = candidate.isSignalled || ended === "signalled";
  return { report: brokenOff(`the tests' process ended ${how}`), isSignalled };
}

function brokenOff(problem: string): TestReport {
  return { tests: [], problem };
}
