/**
 * Grades a program with a problem's tests. The tests run in one sandboxed process, the program in another, and this
 * file passes the calls between them. The process that decides never executes the model's code, and it compares plain
 * values, so a program can only pass a test by returning what the test expects.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { CodeTests } from "../../../data/problem.ts";
import { pythonProgram } from "../python.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { type Script, withScript } from "../../../sandbox/scripts.ts";
import { withSessions } from "../../../sandbox/sessions.ts";
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
const lastLine = z.object({ ended: z.int() });
const callSchema = z.object({ call: z.int() });

/** The tests, and the program. */
const sessionsNeeded = 2;

/** @throws ServiceError if the sandbox fails; anything tests or program do is in the report */
export async function gradeWithPython(
  sandbox: Sandbox,
  request: GradeRequest,
  signal?: AbortSignal,
): Promise<TestReport> {
  const { program, seconds } = request;
  const candidate = new Candidate({ sandbox, program, seconds, signal });
  try {
    return await withSessions(sandbox, sessionsNeeded, () =>
      withScript(sandbox, grader, signal, (tests) => reportFrom(tests, request, candidate)),
    );
  } finally {
    candidate.close();
  }
}

async function reportFrom(
  script: Script,
  { tests, entryPoint, preamble }: GradeRequest,
  candidate: Candidate,
): Promise<TestReport> {
  script.send(JSON.stringify({ tests, entryPoint, preamble }));
  let report: TestReport | null = null;
  for (let line = await script.next(); line !== null; line = await script.next()) {
    const message = jsonOrNull(line);
    report = reportLine.safeParse(message).data?.verdict ?? report;
    const last = lastLine.safeParse(message);
    if (last.success) return report ?? withoutReport(script, last.data.ended);
    const call = callSchema.safeParse(message);
    if (!call.success) continue;
    script.send(JSON.stringify(await candidate.call(line, call.data.call)));
  }
  return { tests: [], problem: `the tests' process ended (${(await script.ended).ended})` };
}

/** The script is not reused: it might mistake the answer to a last call for a request. */
function withoutReport(script: Script, status: number): TestReport {
  script.kill();
  return { tests: [], problem: `the tests' process ended (status ${status})` };
}
