import { describe, expect, it } from "vitest";
import type { CodeProblem, PrintedComparison } from "../../../data/problem.ts";
import { wholeProgram } from "../../../text/fences.ts";
import { problemList } from "../../problems.ts";
import { plainReply } from "../../progression.ts";
import { codeEnvironment } from "../definition.ts";
import { codeOptions } from "../options.ts";
import { contextWith } from "../testing/problems.ts";
import { sandbox, works } from "../testing/sandbox.ts";
import { gradeProblem } from "./problem.ts";
import { comparisons, isSameOutput, gradeWithInput } from "./stdin.ts";

const sum: CodeProblem = {
  id: "made/sum",
  prompt: "Print the sum of the numbers.",
  entryPoint: null,
  tests: {
    kind: "stdin",
    cases: [
      { input: "1 2\n", output: "3\n" },
      { input: "", output: "0" },
      { input: "-1\n5", output: "4\n" },
      { input: "0.5 0.25", output: "0.75" },
    ],
  },
  solutions: ["print(sum(map(float, open(0).read().split())))"],
};

const grade = (program: string, seconds = 2) =>
  gradeWithInput(sandbox, {
    program,
    cases: sum.tests.kind === "stdin" ? sum.tests.cases : [],
    seconds,
    memoryBytes: undefined,
    comparison: comparisons.close,
  });

describe.runIf(works)("a program that reads standard input", () => {
  it("is run once for each test", async () => {
    const report = await grade("print(sum(map(float, open(0).read().split())))");
    expect(report.tests.map(({ passed }) => passed)).toEqual([true, true, true, true]);
    const wrong = await grade("import sys\nprint(3)\nsys.exit(1 if sys.stdin.read() else 0)");
    expect(wrong.tests.map(({ passed }) => passed)).toEqual([true, false, false, false]);
    const failed = await grade("print(sum(map(float, open(0).read().split())))\nraise ValueError('after')");
    expect(failed.tests.map(({ passed, error }) => [passed, error])).toEqual(
      failed.tests.map(() => [false, "ValueError: after"]),
    );
    expect(wrong.tests[1]).toEqual({ text: 'input "", output "0"', passed: false, error: 'printed "3"' });
  });

  it("says why a test fails", async () => {
    const failing = await grade("print(int(input()))");
    expect(failing.tests.map(({ error }) => error)).toEqual([
      "ValueError: invalid literal for int() with base 10: '1 2'",
      "EOFError: EOF when reading a line",
      'printed "-1"',
      "ValueError: invalid literal for int() with base 10: '0.5 0.25'",
    ]);
    const endless = await grade("while True: pass", 0.3);
    expect(endless.tests[0]?.error).toMatch(/^ended by its limit: (cpu|wall)-time$/);
  });

  it("earns a share of the single coder's 2.1", async () => {
    const environment = codeEnvironment(codeOptions.parse({}), {
      train: problemList([sum]),
      heldOut: problemList([{ ...sum, id: "made/other" }]),
    });
    const start = await environment.start({ id: "made/sum" }, contextWith());
    expect(environment.observe(start, "single")).toBe(
      "Problem:\n\nPrint the sum of the numbers.\n\nWrite a whole program that reads standard input and prints its answer.",
    );
    const text = "So:\n```python\nprint(sum(map(int, open(0).read().split())))\n```\n";
    const { state, rewards } = await environment.step(start, { single: plainReply(text) }, contextWith());
    expect(rewards["single"]).toMatchObject({ team: (0.6 + 0.5 + 0.75) / 2.1, reason: "1 of 4 tests fail" });
    expect(environment.outcome(state)).toEqual({ success: false, score: 0.75 });
    const broken = await environment.step(start, { single: plainReply("print(") }, contextWith());
    expect(broken.rewards["single"]).toMatchObject({ team: 0.6 / 2.1 });
    const none = await environment.step(start, { single: plainReply("") }, contextWith());
    expect(none.rewards["single"]).toMatchObject({ team: 0, reason: "no program found" });
  });
});

describe("isSameOutput", () => {
  it.each([
    ["1 2\n", "1  2", true, true],
    ["1\n2", "1 2", true, false],
    ["1\n\n2", "1\n2", true, false],
    [" 1\n 2  \n\n", "1\n2", true, true],
    ["a  b", "a b", true, false],
    ["a 1.0", "a 1", true, false],
    ["1.0  2", "1 2.00", true, true],
    ["yes", "YES", false, false],
    ["1 2", "1", false, false],
    ["", " \n", true, true],
    ["0.300001", "0.3", true, false],
    ["0.31", "0.3", false, false],
    ["1.50", "1.5", true, true],
    ["3", "3.0", true, true],
    ["10000001", "10000000", false, false],
    ["007", "7", true, true],
    ["nan", "NaN", false, false],
    ["1e400", "2e400", false, false],
  ])("%j for %j: close %s, exact %s", (printed, expected, isClose, isExact) => {
    expect(isSameOutput(printed, expected, comparisons.close)).toBe(isClose);
    expect(isSameOutput(printed, expected, comparisons.exact)).toBe(isExact);
  });

  it("reads a million digits that are no number", () => {
    expect(isSameOutput(`${"1".repeat(1e6)}x`, "1", comparisons.close)).toBe(false);
  });
});

describe("isSameOutput as in CodeContests", () => {
  it.each([
    ["YES\nno", "Yes No", true],
    ["0.500009", "0.5", true],
    ["0.50002", "0.5", false],
    ["100000.5", "100000.50002", false],
    ["10000001", "10000000", false],
    ["yes no", "yes", false],
  ])("%j for %j: %s", (printed, expected, isContests) => {
    expect(isSameOutput(printed, expected, comparisons.contests)).toBe(isContests);
  });

  it("is the comparison of the data set, unless the recipe has another", async () => {
    const problem: CodeProblem = {
      ...sum,
      comparison: "contests",
      tests: { kind: "stdin", cases: [{ input: "", output: "Yes" }] },
    };
    const setting = { sandbox, context: contextWith(), problem, entryPoint: "", seconds: 2 };
    const written = { program: "print('YES')", preamble: "" };
    const passed = async (comparison?: PrintedComparison) =>
      (await gradeProblem({ ...setting, comparison }, written)).tests[0]?.passed;
    expect([await passed(), await passed("exact")]).toEqual([true, false]);
  });
});

describe("wholeProgram", () => {
  it.each([
    ["print(1)", "print(1)"],
    ["", ""],
    ["a\n```python\nx\n```\nb\n```python\ny\n```\n", "y\n"],
    ["```\nx\n```\n```json\n{}\n```", "x\n"],
    ["```py\nx\n```\n```\n1 2\n```", "x\n"],
    ["```python\nprint(1)\nprint(2)", "print(1)\nprint(2)"],
  ])("%j gives %j", (text, program) => {
    expect(wholeProgram(text)).toBe(program);
  });
});
