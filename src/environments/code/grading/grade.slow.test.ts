import { afterAll, describe, expect, it } from "vitest";
import type { CodeTests } from "../../../data/problem.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { ownSandboxes, signalPrograms } from "../../../sandbox/testing.ts";
import { gradeWithPython, type TestReport } from "./grade.ts";

interface Given {
  readonly preamble?: string;
  readonly entryPoint?: string;
  readonly seconds?: number;
}

const check = (...lines: readonly string[]): string =>
  `def check(candidate):\n${lines.map((line) => line.replaceAll(/^/gm, "    ")).join("\n")}\n`;

/** Which tests passed: `+-` */
const marks = ({ tests }: TestReport): string => tests.map(({ passed }) => (passed ? "+" : "-")).join("");

type Grade = (program: string, tests: CodeTests | string, given?: Given) => Promise<TestReport>;

function gradeIn(sandbox: Sandbox): Grade {
  return (program, tests, { preamble = "", entryPoint = "f", seconds = 5 } = {}) => {
    const known: CodeTests = typeof tests === "string" ? { kind: "python-check", source: tests } : tests;
    return gradeWithPython(sandbox, { program, tests: known, entryPoint, preamble, seconds });
  };
}

const sandboxes = await ownSandboxes();
const best = sandboxes.map(([, opened]) => opened).find((opened) => typeof opened !== "string") as Sandbox;
afterAll(async () => {
  for (const [, opened] of sandboxes) if (typeof opened !== "string") await opened.close();
});

/** What depends on how processes are started and end. */
describe.each(sandboxes)("%s", (_title, opened) => {
  const grade = gradeIn(opened as Sandbox);

  describe.runIf(typeof opened !== "string")("gradeWithPython", () => {
    it("counts every assert, and a failing one does not stop the others", async () => {
      const tests = check("assert candidate(1) == 2", "assert candidate(1) == 3", "assert candidate(3) == 4");
      const report = await grade("def f(n):\n    return n + 1\n", tests);
      expect(report).toEqual({
        tests: [
          { text: "assert f(1) == 2", passed: true, error: null },
          { text: "assert f(1) == 3", passed: false, error: "got 2" },
          { text: "assert f(3) == 4", passed: true, error: null },
        ],
        problem: null,
      });
    });

    it.each(["SIGTERM", "SIGKILL", "SIGSEGV", "SIGINT"] as const)(
      "grades as if %s from outside had not been",
      async (signal) => {
        const program = "import time\ndef f(n):\n    time.sleep(2)\n    return n + 1\n";
        const grading = grade(program, check("assert candidate(1) == 2", "assert candidate(2) == 2"));
        await signalPrograms(2, signal);
        expect([marks(await grading), (await grading).problem]).toEqual(["+-", null]);
      },
    );

    it("believes a program that a signal ends each time", async () => {
      const program = "import os\ndef f(n):\n    os.abort()\n";
      expect((await grade(program, check("assert candidate(1) == 2"))).tests).toEqual([
        { text: "assert f(1) == 2", passed: false, error: "the program's process ended (signalled)" },
      ]);
    });

    it("passes megabytes of arguments and results", async () => {
      const numbers = JSON.stringify([Array.from({ length: 60_000 }, (_, index) => index)]);
      const cases = [1, 2, 3].map(() => ({ arguments: numbers, accepted: [numbers.slice(1, -1)] }));
      const tests: CodeTests = { kind: "calls", entryPoint: "f", cases };
      expect(marks(await grade("def f(numbers): return list(numbers)\n", tests))).toBe("+++");
    });

    it("ends with tests that end their own process", async () => {
      const program = "def f(n):\n    return n\n";
      const leaving = (how: string) =>
        grade(program, check("assert candidate(1) == 1", how, "assert candidate(2) == 2"));
      const left = await leaving("import sys\nsys.exit(0)");
      expect([marks(left), left.problem]).toEqual(["+-", "SystemExit: 0"]);
      expect(await leaving("import os\nos._exit(0)")).toEqual({
        tests: [],
        problem: "the tests' process ended with exit code 0",
      });
      expect(marks(await grade(program, check("assert candidate(1) == 1")))).toBe("+");
    });
  });
});

/** What the grader does, in the best sandbox. */
describe.runIf(best !== undefined)("gradeWithPython", () => {
  const grade = gradeIn(best);

  it("counts asserts in loops once, those of several lines, with variables and in branches", async () => {
    const tests = check(
      "import math",
      "for n in range(5):\n    assert candidate(n) == n + 1",
      "for n in range(5):\n    assert candidate(n) < 5",
      "assert candidate(\n    1,\n) == 2, 'message'",
      "x = candidate(1)\nassert math.fabs(x - 2) < 0.1\nassert x == 2\nx = candidate(2)\nassert x == 2",
      "if True:\n    assert candidate(0) == 1",
    );
    expect(marks(await grade("def f(n):\n    return n + 1\n", tests))).toBe("+-+++-+");
  });

  it("counts neither asserts without names nor the same one twice", async () => {
    const tests = check(
      "assert True, 'never fails'",
      "assert candidate(1) == 1",
      "assert candidate(1) == 1",
      "x = 1\nassert candidate(x) == 1\nx = 2\nassert candidate(x) == 1",
    );
    expect(marks(await grade("def f(n):\n    return n\n", tests))).toBe("++-");
  });

  it("fails what depends on a line that failed, and nothing else", async () => {
    const tests = check(
      "x = 1\nx = candidate(0)\nassert x == 1",
      "assert candidate(2) == 0.5",
      "for n in candidate(0):\n    assert n",
      "assert candidate(4) == 0.25",
    );
    const report = await grade("def f(n):\n    return 1 / n\n", tests);
    expect(marks(report)).toBe("-+-+");
    expect(report.tests[0]?.error).toMatch(/^(UnboundLocalError|NameError): /);
    expect(report.tests[2]?.error).toBe("not reached");
  });

  it("tests may catch the program's exceptions; a try is one test", async () => {
    const tests = check(
      "try:\n    candidate(0)\n    assert False\nexcept ValueError:\n    pass",
      "try:\n    candidate(1)\n    assert False\nexcept ValueError:\n    pass",
      "try:\n    candidate(1)\nexcept Exception as error:\n    assert str(error) == 'no'",
    );
    const program =
      "class Own(Exception): pass\ndef f(n):\n    if n == 0:\n        raise ValueError('no')\n    raise Own('no')\n";
    const report = await grade(program, tests);
    expect(marks(report)).toBe("+--");
    expect(report.tests[1]?.error).toBe("Own: no");
  });

  it("passes plain values without loss, and changes to arguments come back", async () => {
    const value =
      "[None, True, False, 10**400, -5, 0.1, float('inf'), -0.0, 2j, 'ü\\ud800', b'\\x00', (1,), {1: (2,)}, {3}, frozenset([4]), range(3)]";
    const tests = check(
      `value = ${value}`,
      "assert candidate(value) == value",
      "assert str(candidate(value)) == str(value)",
      "assert [type(each) for each in candidate(value)] == [type(each) for each in value]",
      "change = [[3, 1, 2], {'a': 1}, {1}]\nassert candidate(change, sort=True) == None\nassert change == [[1, 2, 3], {'a': 1, 'b': 2}, {1, 2}]",
      "inner = change[0]\ncandidate(change, sort=True)\nassert inner is change[0]",
    );
    const program =
      "def f(x, sort=False):\n    if not sort:\n        return x\n    x[0].sort()\n    x[1]['b'] = 2\n    x[2].add(2)\n";
    expect(marks(await grade(program, tests))).toBe("++++++");
  });

  it("an iterator is no list, but can be read; what is not plain does not pass", async () => {
    const tests = check(
      "assert list(candidate(3)) == [0, 1, 2]",
      "assert candidate(3) == [0, 1, 2]",
      "assert candidate(-1)",
      "assert candidate(-2)",
    );
    const program = `import itertools
def f(n):
  if n == -1:
      return object()
  if n == -2:
      return itertools.count()
  return (each for each in range(n))
`;
    const report = await grade(program, tests);
    expect(marks(report)).toBe("+---");
    expect(report.tests[2]?.error).toBe("NotPlain: a value of type object is not a plain one");
    expect(report.tests[3]?.error).toBe("NotPlain: an iterator gives more than 20000 values");
  });

  it("helpers of the prompt are there for the tests", async () => {
    const tests = check("assert candidate(double(2)) == 4");
    const preamble = "def double(n):\n    return 2 * n\n";
    const report = await grade("def f(n):\n    return n\n", tests, { preamble });
    expect(marks(report)).toBe("+");
  });

  it("a program that cannot be loaded, or takes too long, fails tests and hangs nothing", async () => {
    const tests = check("assert candidate(1) == 1", "assert candidate(0) == 0", "assert candidate(2) == 2");
    const broken = await grade("import nothing_of_the_kind\n", tests);
    expect(marks(broken)).toBe("---");
    expect(broken.tests[0]?.error).toMatch(/^the program cannot be loaded: ModuleNotFoundError/);
    const slow = await grade("def f(n):\n    while n == 0:\n        pass\n    return n\n", tests, {
      seconds: 1,
    });
    expect(marks(slow)).toBe("+-+");
  });

  it("globals that cannot be computed are left out", async () => {
    const program = "text = input()\nLIMIT = 3\ndef f(n):\n    return min(n, LIMIT)\n";
    expect(marks(await grade(program, check("assert candidate(5) == 3")))).toBe("+");
  });

  it("statements that call the program's functions by name", async () => {
    const tests = {
      kind: "asserts",
      setup: "import math",
      asserts: ["assert f(4) == math.sqrt(16)", "assert g([1]) == f(1)", "assert f(1) == 2"],
    } as const;
    const program = "def f(n):\n    return n\ndef g(items):\n    return items[0]\n";
    expect(marks(await grade(program, tests))).toBe("++-");
  });

  it("calls with the results that are accepted, of a function or of a class Solution", async () => {
    const cases = [
      { arguments: "[[1, 2], 3]", accepted: ["[[1, 2], 3]"] },
      { arguments: '["a", null]', accepted: ["0", '["a", null]'] },
      { arguments: "[12345678901234567890, 1.5]", accepted: ["[12345678901234567890, 1.5]"] },
      { arguments: "[1, 2]", accepted: ["[2, 1]"] },
    ];
    const tests = { kind: "calls", entryPoint: "f", cases } as const;
    expect(marks(await grade("def f(a, b):\n    return (a, b)\n", tests))).toBe("+++-");
    const solution = "class Solution:\n    def f(self, a, b):\n        return [a, b]\n";
    expect(marks(await grade(solution, tests))).toBe("+++-");
  });

  it("tests that are no Python are a problem of theirs", async () => {
    const report = await grade("def f(n):\n    return n\n", "def check(candidate)\n");
    expect(report.tests).toEqual([]);
    expect(report.problem).toMatch(/^SyntaxError: /);
  });
});
