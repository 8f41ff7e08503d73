/** Grades a program with a problem's tests of any kind. Each report is computed once and recorded. */
import { createHash } from "node:crypto";
import { recordedCall } from "../../../calls/recorded.ts";
import { withPreamble, type CodeProblem, type PrintedComparison } from "../../../data/problem.ts";
import { TroupeError } from "../../../errors.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { Context } from "../../environment.ts";
import type { Analysis } from "../analysis/analyse.ts";
import { graderDigest, gradeWithPython, reportSchema, type GradeRequest, type TestReport } from "./grade.ts";
import { comparisons, gradeWithInput } from "./stdin.ts";

export interface GradeSetting {
  readonly sandbox: Sandbox;
  readonly context: Pick<Context, "signal" | "services">;
  readonly problem: CodeProblem;
  readonly entryPoint: string;
  readonly seconds: number;
  /** Undefined: the data set's own. */
  readonly comparison?: PrintedComparison | undefined;
}

/** @throws ServiceError if the sandbox fails, TroupeError `cancelled` */
export async function gradeProblem(
  setting: GradeSetting,
  written: Pick<Analysis, "program" | "preamble">,
): Promise<TestReport> {
  const { problem, entryPoint } = setting;
  const comparison = setting.comparison ?? problem.comparison ?? "close";
  const { tests, limits } = problem;
  const program = withPreamble(problem, written.program);
  const preamble = program === written.program ? written.preamble : withPreamble(problem, written.preamble);
  const seconds = limits?.seconds ?? setting.seconds;
  const request = { program, tests, entryPoint, preamble, seconds, comparison, limits };
  const { signal, services } = setting.context;
  const key = digestOf(request);
  const ask = async (): Promise<TestReport> => {
    const report = await reportOf(setting.sandbox, request, signal);
    if (signal.aborted) throw new TroupeError("cancelled", "Cancelled while tests were running.");
    return report;
  };
  return recordedCall(services.recorded, { key, read: readReport, ask }, signal);
}

function readReport(recorded: unknown): TestReport | null {
  return reportSchema.safeParse(recorded).data ?? null;
}

interface Request extends GradeRequest {
  readonly comparison: PrintedComparison;
  readonly limits: CodeProblem["limits"];
}

function reportOf(sandbox: Sandbox, request: Request, signal: AbortSignal): Promise<TestReport> {
  const { tests, program, seconds, limits } = request;
  if (tests.kind !== "stdin") return gradeWithPython(sandbox, request, signal);
  const comparison = comparisons[request.comparison];
  const given = { program, cases: tests.cases, seconds, memoryBytes: limits?.memoryBytes, comparison };
  return gradeWithInput(sandbox, given, signal);
}

function digestOf(request: Request): string {
  return createHash("sha256").update(graderDigest).update(JSON.stringify(request)).digest("hex").slice(0, 32);
}
