/** Proves a sandbox before it is used: each grader has to tell a correct, a wrong and a hanging program apart in it. */
import type { CodeTests } from "../../../data/problem.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { gradeWithPython, type TestReport } from "./grade.ts";
import { comparisons, gradeWithInput } from "./stdin.ts";

type Quality = "correct" | "wrong" | "hanging";

/** Of the processor. */
const seconds = 0.3;

const functions: Readonly<Record<Quality, string>> = {
  correct: "def add(a, b):\n    return a + b\n",
  wrong: "def add(a, b):\n    return a - b\n",
  hanging: "def add(a, b):\n    while True:\n        pass\n",
};

const tests: readonly CodeTests[] = [
  { kind: "python-check", source: "def check(candidate):\n    assert candidate(2, 3) == 5\n" },
  { kind: "asserts", setup: "", asserts: ["assert add(2, 3) == 5"] },
  { kind: "calls", entryPoint: "add", cases: [{ arguments: "[2, 3]", accepted: ["5"] }] },
];

const programs: Readonly<Record<Quality, string>> = {
  correct: "print(sum(map(int, input().split())))\n",
  wrong: "print(0)\n",
  hanging: "while True:\n    pass\n",
};

/** Why a failing program failed, for each kind. */
const failures: Readonly<Record<Exclude<Quality, "correct">, RegExp>> = {
  wrong: /^(got|printed)/,
  hanging: /cpu-time/,
};

/** Of a server that runs programs from start to end, and measures no processor time. */
const serverFailures: typeof failures = { ...failures, hanging: /wall-time/ };

/**
 * @returns what was graded as something else; null: everything was as it should be
 * @throws ServiceError if the sandbox fails
 */
export async function proveGrading(sandbox: Sandbox): Promise<string | null> {
  const reasons = sandbox.sessions === 0 ? serverFailures : failures;
  const graded = [...(sandbox.sessions === 0 ? [] : functionGradings()), ...inputGradings()].map(
    async ([quality, grade]) => problemOf(quality, await grade(sandbox), reasons),
  );
  return (await Promise.all(graded)).find((problem) => problem !== null) ?? null;
}

type Grading = readonly [Quality, (sandbox: Sandbox) => Promise<TestReport>];

function functionGradings(): readonly Grading[] {
  const gradings = (Object.keys(functions) as Quality[]).flatMap((quality) =>
    tests.map((one): Grading => [quality, (sandbox) => gradeFunction(sandbox, functions[quality], one)]),
  );
  // The processes of all kinds hang alike, and each takes a second to end.
  return gradings.filter(([quality], at) => quality !== "hanging" || gradings[at - 1]?.[0] !== "hanging");
}

function gradeFunction(sandbox: Sandbox, program: string, given: CodeTests): Promise<TestReport> {
  return gradeWithPython(sandbox, { program, tests: given, entryPoint: "add", preamble: "", seconds });
}

function inputGradings(): readonly Grading[] {
  const cases = [{ input: "2 3\n", output: "5\n" }];
  const given = { cases, seconds, memoryBytes: undefined, comparison: comparisons.close };
  return (Object.keys(programs) as Quality[]).map((quality): Grading => [
    quality,
    (sandbox) => gradeWithInput(sandbox, { ...given, program: programs[quality] }),
  ]);
}

function problemOf(
  quality: Quality,
  { tests: [test], problem }: TestReport,
  reasons: typeof failures,
): string | null {
  const found = problem ?? (test?.passed === true ? "it passed" : (test?.error ?? "there was no result"));
  const isAsExpected =
    problem === null &&
    test !== undefined &&
    test.passed === (quality === "correct") &&
    isReason(quality, test.error, reasons);
  return isAsExpected ? null : `a ${quality} program was not graded as such: ${found}`;
}

function isReason(quality: Quality, error: string | null, reasons: typeof failures): boolean {
  return quality === "correct" ? error === null : reasons[quality].test(error ?? "");
}
