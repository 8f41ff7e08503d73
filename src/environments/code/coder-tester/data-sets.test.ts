/** Problems in the forms of APPS, CodeContests and LiveCodeBench, with what good and bad coders and testers write. */
import { describe, expect, it } from "vitest";
import type { CodeProblem } from "../../../data/problem.ts";
import { appsImports, liveCodeBenchImports } from "../../../data/sets/problem-set.ts";
import { problemList } from "../../problems.ts";
import { playTexts } from "../testing/problems.ts";
import { works } from "../testing/sandbox.ts";
import { pairEnvironment } from "./definition.ts";
import { pairOptions } from "./state.ts";

/** APPS, call-based; solutions return tuples, which its grader takes for lists. */
const pairs: CodeProblem = {
  id: "apps/calls",
  prompt: "Return both numbers in order.",
  entryPoint: "ordered",
  tests: {
    kind: "calls",
    entryPoint: "ordered",
    cases: [
      { arguments: "[3, 1]", accepted: ["[1, 3]"] },
      { arguments: "[1, 2]", accepted: ["[1, 2]"] },
    ],
  },
  solutions: ["def ordered(a, b):\n    return (min(a, b), max(a, b))\n"],
};

/** LiveCodeBench, call-based: a class, and no solution. */
const method: CodeProblem = {
  id: "lcb/calls",
  prompt: "Return the sum.",
  entryPoint: "total",
  starter: "class Solution:\n    def total(self, numbers: List[int]) -> int:\n        ",
  tests: { kind: "calls", entryPoint: "total", cases: [{ arguments: "[[1, 2]]", accepted: ["3"] }] },
  preamble: liveCodeBenchImports,
  solutions: [],
};

/** APPS: its solutions do not import what its grader imports. */
const imported: CodeProblem = {
  id: "apps/imported",
  prompt: "Print the root of a number.",
  entryPoint: null,
  tests: { kind: "stdin", cases: [{ input: "9\n", output: "3\n" }] },
  preamble: appsImports,
  solutions: ["print(int(sqrt(int(sys.stdin.readline()))))"],
};

/** Mapped rows: the preamble is not in the prompt, and tests use it. */
const mapped: CodeProblem = {
  id: "mapped/1",
  prompt: "Double a number.",
  entryPoint: "double",
  tests: { kind: "asserts", setup: "", asserts: ["assert double(UNIT) == 2 * UNIT"] },
  preamble: "UNIT = 3\n",
  solutions: ["def double(n):\n    return n + UNIT - UNIT + n\n"],
};

/** Numbers, with a limit of its own. */
const half: CodeProblem = {
  id: "contests/half",
  prompt: "Print the half of a number.",
  entryPoint: null,
  tests: {
    kind: "stdin",
    cases: [
      { input: "3\n", output: "1.5\n" },
      { input: "1\n", output: "0.5" },
    ],
  },
  solutions: ["print(int(input()) / 2)"],
  limits: { seconds: 1 },
};

const environment = await pairEnvironment(pairOptions.parse({}), {
  train: problemList([pairs, half, imported, mapped]),
  heldOut: problemList([method]),
});

async function played(id: string, texts: Readonly<Record<string, string>>) {
  const { rewards, ...rest } = await playTexts(environment, { id }, [texts]);
  return { ...rest, rewards: rewards[0] ?? {} };
}

const pair = (input: string, output: string): string =>
  `Input:\n\`\`\`\n${input}\n\`\`\`\nOutput:\n\`\`\`\n${output}\n\`\`\``;

describe.runIf(works)("problems whose tests are calls", () => {
  it("a program with wrong results has run", async () => {
    const { rewards, state } = await played("apps/calls", {
      coder: "def ordered(a, b):\n    return [a, b]\n",
    });
    expect(rewards["coder"]).toMatchObject({ team: 0.5, parts: { build: 0.1, run: 0.1, tests: 0.4 } });
    expect(state.hidden).toEqual({ passed: 1, total: 2 });
  });

  it("a test is compared as the hidden tests are: a tuple counts as a list", async () => {
    const coder = "def ordered(a, b):\n    return sorted((a, b))\n";
    for (const tester of ["assert ordered(5, 4) == [4, 5]", "assert ordered(5, 4) == (4, 5)"]) {
      const { rewards, done } = await played("apps/calls", { coder, tester });
      expect([rewards["tester"]?.local, done]).toEqual([1, true]);
    }
    const { rewards, done, state } = await played("apps/calls", {
      coder,
      tester: "assert ordered(5, 4) == [5, 4]",
    });
    expect([rewards["tester"]?.local, done, state.mismatch]).toEqual([0.2, false, "got [4, 5]"]);
  });

  it("a program may be a class, and a test may call its method", async () => {
    const coder = "class Solution:\n    def total(self, numbers):\n        return sum(numbers)\n";
    for (const tester of ["assert total([4, 5]) == 9", "assert Solution().total([4, 5]) == 9"]) {
      const { rewards, done, outcome } = await played("lcb/calls", { coder, tester });
      expect([rewards["tester"], done, outcome.success]).toEqual([null, true, true]);
    }
  });
});

describe.runIf(works)("problems with a preamble", () => {
  it("have what the sets' graders import", async () => {
    const completed =
      "class Solution:\n    def total(self, numbers: List[int]) -> int:\n        return reduce(add, numbers)\n";
    const { outcome } = await played("lcb/calls", { coder: completed });
    expect(outcome.success).toBe(true);
    const own = "from __future__ import annotations\nimport math\nprint(math.isqrt(int(input())))";
    for (const coder of [imported.solutions[0] ?? "", own])
      expect((await played("apps/imported", { coder, tester: pair("4", "2") })).rewards).toMatchObject({
        coder: { team: 1, local: 1 },
        tester: { local: 1 },
      });
  });

  it("have what a recipe maps to it, in programs and tests", async () => {
    const [coder = ""] = mapped.solutions;
    const { rewards } = await played("mapped/1", { coder, tester: "assert double(4) == 8" });
    expect(rewards).toMatchObject({ coder: { team: 1 }, tester: { local: 1 } });
  });
});

describe.runIf(works)("problems with standard input", () => {
  it("compare numbers as numbers, and ignore white space", async () => {
    const coder = "print(f'  {int(input()) * 0.5:.6f}  ')";
    const { rewards, done, outcome } = await played("contests/half", { coder, tester: pair("9", " 4.50") });
    expect([rewards["tester"]?.local, done, outcome.success]).toEqual([1, true, true]);
  });

  it("have the problem's own time limit, also for the tester's test", async () => {
    const coder = "n = int(input())\nwhile n == 9:\n    pass\nprint(n / 2)";
    const { state, done, outcome } = await played("contests/half", { coder, tester: pair("9", "4.5") });
    expect([done, outcome.success]).toEqual([false, true]);
    expect(state.mismatch).toMatch(/limit/);
  });
});
