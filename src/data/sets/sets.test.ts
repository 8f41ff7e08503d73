/** Rows of each registered set become problems; invalid ones report why. */
import { existsSync } from "node:fs";
import path from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readRows } from "../formats/read-rows.ts";
import { codeProblemSchema, type CodeProblem } from "../problem.ts";
import { humanEvalRow } from "../testing/rows.ts";
import { apps } from "./apps.ts";
import { codeContests } from "./code-contests.ts";
import { coopHumanEval, humanEval } from "./human-eval.ts";
import { liveCodeBench } from "./live-code-bench.ts";
import { mbpp } from "./mbpp.ts";
import { appsImports, liveCodeBenchImports, type ProblemSet } from "./problem-set.ts";
import { problemSets, findProblemSet, suggestProblemSet } from "./registered.ts";

function problemOf(set: ProblemSet, row: object): CodeProblem {
  return codeProblemSchema.parse(set.problem(row as Record<string, unknown>, { split: "test", row: 0 }));
}

describe("HumanEval", () => {
  it("the solution is the rest of the prompt; what comes before the function is its preamble", () => {
    const row = humanEvalRow(7);
    expect(problemOf(humanEval, row)).toEqual({
      id: "HumanEval/7",
      prompt: row.prompt,
      entryPoint: "add_7",
      tests: { kind: "python-check", source: row.test },
      solutions: [row.prompt + row.canonical_solution],
      preamble: "from typing import List",
      starter: row.prompt,
    });
  });

  it("helpers of the prompt are in the preamble, indentation and all", () => {
    const prompt = "\n\ndef helper(a):\n    return a\n\n\ndef main(a):\n    ''' Uses helper. '''\n";
    const row = { ...humanEvalRow(1), prompt, entry_point: "main" };
    expect(problemOf(humanEval, row).preamble).toBe("def helper(a):\n    return a");
  });

  it("CoopHumanEval has no solutions", () => {
    const { canonical_solution: _, ...row } = humanEvalRow(3);
    expect(problemOf(coopHumanEval, row).solutions).toEqual([]);
  });

  it.each([
    ["no entry point", { entry_point: undefined }, /entry_point/],
    [
      "an entry point that is no name",
      { entry_point: "a b" },
      /entry_point: expected the name of a function/,
    ],
    [
      "an entry point that the prompt lacks",
      { entry_point: "other" },
      /prompt: no definition of the entry point other/,
    ],
    ["no tests", { test: "METADATA = {}\n" }, /test: no definition of check/],
    ["tests without assertions", { test: "def check(candidate):\n    pass\n" }, /asserts nothing/],
  ])("%s", (_, change, problem) => {
    expect(() => problemOf(humanEval, { ...humanEvalRow(1), ...change })).toThrow(problem);
  });
});

describe("MBPP", () => {
  const full = {
    task_id: 601,
    text: "Write a function to add two numbers.",
    code: "import math\r\ndef helper(a):\r\n  return a\r\ndef add(a, b):\r\n  return helper(a) + b\r\n",
    test_list: ["assert add(1, 2) == 3", "assert add(0, 0) == 0"],
    test_setup_code: "x = 1",
    challenge_test_list: ["assert add(-1, 1) == 0", ""],
  };

  it("full: the name comes from the assertions, challenges decide and are not shown", () => {
    expect(problemOf(mbpp, full)).toEqual({
      id: "mbpp/601",
      prompt: "Write a function to add two numbers.",
      entryPoint: "add",
      tests: {
        kind: "asserts",
        setup: "x = 1",
        asserts: ["assert add(1, 2) == 3", "assert add(0, 0) == 0", "assert add(-1, 1) == 0"],
      },
      shownTests: {
        kind: "asserts",
        setup: "x = 1",
        asserts: ["assert add(1, 2) == 3", "assert add(0, 0) == 0"],
      },
      solutions: ["import math\ndef helper(a):\n  return a\ndef add(a, b):\n  return helper(a) + b\n"],
    });
  });

  it("sanitized: prompt and imports have other names", () => {
    const { text: _, test_setup_code: __, challenge_test_list: ___, ...rest } = full;
    const row = { ...rest, prompt: "Add.", source_file: "x", test_imports: ["import math", "import re"] };
    const problem = problemOf(mbpp, row);
    expect(problem.prompt).toBe("Add.");
    expect(problem.tests).toMatchObject({ setup: "import math\nimport re" });
  });

  it("classes may be tested", () => {
    const code = "class Pair(object):\n  pass\ndef chain(pairs):\n  return 1";
    const test_list = ["assert chain([Pair(5, 24), Pair(15, 25)]) == 3"];
    expect(problemOf(mbpp, { ...full, code, test_list, challenge_test_list: [] }).entryPoint).toBe("chain");
  });

  it.each([
    ["no assertions", { test_list: [] }, /test_list/],
    ["empty assertions", { test_list: [" "] }, /test_list: no assertions/],
    [
      "assertions of another function",
      { test_list: ["assert sub(1) == 1"] },
      /code: defines nothing that every assertion calls/,
    ],
    ["no text", { text: " " }, /prompt/],
  ])("%s", (_, change, problem) => {
    expect(() => problemOf(mbpp, { ...full, ...change })).toThrow(problem);
  });
});

describe("APPS", () => {
  const row = {
    id: 12,
    question: "Read and print.",
    solutions: JSON.stringify(["print(input())", "import sys\nprint(sys.stdin.read())"]),
    input_output: JSON.stringify({ inputs: ["1\n", ["2", "3"]], outputs: ["1\n", ["2", "3"]] }),
    difficulty: "interview",
    url: "https://example.com",
    starter_code: "",
  };

  it("programs that read standard input; lists are lines", () => {
    expect(problemOf(apps, row)).toEqual({
      id: "apps/test/12",
      prompt: "Read and print.",
      entryPoint: null,
      tests: {
        kind: "stdin",
        cases: [
          { input: "1\n", output: "1\n" },
          { input: "2\n3", output: "2\n3" },
        ],
      },
      solutions: ["print(input())", "import sys\nprint(sys.stdin.read())"],
      preamble: appsImports,
      limits: { seconds: 4 },
      difficulty: "interview",
    });
  });

  it("calls keep the digits of their numbers; a list's first element is accepted", () => {
    const input_output =
      '{"fn_name": "f", "inputs": [[12345678901234567890, 1.0], []], "outputs": [[3.0], 7]}';
    const problem = problemOf(apps, {
      ...row,
      problem_id: 3,
      input_output,
      starter_code: "\ndef f(a, b):\n\t",
    });
    expect(problem).toMatchObject({ id: "apps/test/3", entryPoint: "f", starter: "def f(a, b):" });
    expect(problem.tests).toEqual({
      kind: "calls",
      entryPoint: "f",
      cases: [
        { arguments: "[12345678901234567890,1.0]", accepted: ["[3.0]", "3.0"] },
        { arguments: "[]", accepted: ["7"] },
      ],
    });
  });

  it("some problems have no solutions", () => {
    expect(problemOf(apps, { ...row, solutions: "" }).solutions).toEqual([]);
  });

  it.each([
    ["no tests", { input_output: "" }, /input_output: no tests/],
    ["no inputs", { input_output: '{"inputs": [], "outputs": []}' }, /input_output.*no tests/],
    ["damaged tests", { input_output: '{"inputs": [' }, /input_output: /],
    [
      "fewer outputs than inputs",
      { input_output: '{"inputs": ["1"], "outputs": []}' },
      /1 inputs, 0 outputs/,
    ],
    ["numbers as input", { input_output: '{"inputs": [1], "outputs": ["1"]}' }, /is not text/],
    [
      "arguments that are not a list",
      { input_output: '{"fn_name": "f", "inputs": [1], "outputs": [1]}' },
      /not a list/,
    ],
    ["damaged solutions", { solutions: "[" }, /solutions: /],
    ["no number", { id: undefined }, /problem_id/],
  ])("%s", (_, change, problem) => {
    expect(() => problemOf(apps, { ...row, ...change })).toThrow(problem);
  });
});

describe("CodeContests", () => {
  const row = {
    name: "1_A. Add",
    description: "Add.",
    public_tests: { input: ["1 2\n"], output: ["3\n"] },
    private_tests: { input: ["2 2\n"], output: ["4\n"] },
    generated_tests: { input: ["0 0\n"], output: ["0\n"] },
    solutions: { language: [2, 3, 1, 3], solution: ["int main() {}", "print(1)", "print 1", "print(2)"] },
    difficulty: 9,
    time_limit: { seconds: 1, nanos: 500_000_000 },
    memory_limit_bytes: 256_000_000,
    source: 2,
  };

  it("all tests decide, the public ones are shown, solutions in Python 3 are kept", () => {
    const shown = { kind: "stdin", cases: [{ input: "1 2\n", output: "3\n" }] };
    expect(problemOf(codeContests, row)).toEqual({
      id: "1_A. Add",
      prompt: "Add.",
      entryPoint: null,
      tests: {
        kind: "stdin",
        cases: [...shown.cases, { input: "2 2\n", output: "4\n" }, { input: "0 0\n", output: "0\n" }],
      },
      shownTests: shown,
      solutions: ["print(1)", "print(2)"],
      limits: { seconds: 1.5, memoryBytes: 256_000_000 },
      comparison: "contests",
      difficulty: "C",
    });
  });

  it("limits of 0 and missing ones are no limits", () => {
    const { limits } = problemOf(codeContests, { ...row, time_limit: null, memory_limit_bytes: "0" });
    expect(limits).toEqual({});
  });

  it("limits that no sandbox can enforce make a row malformed", () => {
    for (const seconds of [1e-9, 1e7])
      expect(() => problemOf(codeContests, { ...row, time_limit: { seconds, nanos: 0 } })).toThrow(/seconds/);
  });

  it.each([
    ["no tests", { public_tests: none, private_tests: none, generated_tests: none }, /no tests/],
    [
      "a missing output",
      { private_tests: { input: ["1"], output: [] } },
      /private_tests: 1 inputs, 0 outputs/,
    ],
    ["no description", { description: "" }, /prompt/],
  ])("%s", (_, change, problem) => {
    expect(() => problemOf(codeContests, { ...row, ...change })).toThrow(problem);
  });
});

const none = { input: [], output: [] };

const pack = (bytes: Buffer) => deflateSync(bytes).toString("base64");

describe("LiveCodeBench", () => {
  const row = {
    question_title: "Sum",
    question_content: "Sum up.",
    platform: "atcoder",
    question_id: "abc_1",
    contest_id: "abc",
    contest_date: "2024-01-01T00:00:00",
    starter_code: "",
    difficulty: "easy",
    public_test_cases: JSON.stringify([{ input: "1\n5\n", output: "5\n", testtype: "stdin" }]),
    // CPython: base64.b64encode(zlib.compress(pickle.dumps(json.dumps([…]))))
    private_test_cases:
      "eJxrYJlaxwABPVXR1UqZeQWlJUpWCkrGMXmGCkYKQEpJR0Epv7QEKm4GEShJLS4pqSxIBQkVl6Rk5inV6iggaTeMyTNF12qKU2vsFD0AXywocA==",
    metadata: "{}",
  };
  const call = {
    ...row,
    question_id: "2824",
    starter_code: "class Solution:\n    def f(self, a, b):\n        ",
    public_test_cases: JSON.stringify([
      { input: '"x"\n{"k": 1.0}', output: "[1, 2]", testtype: "functional" },
    ]),
    private_test_cases:
      "eJxrYJkaxQABPWHR1UqZeQWlJUpWCkrRhjoKRrExeYZGxiamZuYWlgYIlpKOglJ+aQlUpbEeWKAktbikpLIgFSSUVpqXXJKZn5eYo1QbO0UPAPoxG3g=",
    metadata: '{"func_name": "f"}',
  };

  it("hidden tests are unpacked without running anything", () => {
    expect(problemOf(liveCodeBench, row)).toEqual({
      id: "abc_1",
      prompt: "Sum up.",
      entryPoint: null,
      tests: {
        kind: "stdin",
        cases: [
          { input: "1\n5\n", output: "5\n" },
          { input: "3\n1 2 3\n", output: "6\n" },
          { input: "1\n5\n", output: "5\n" },
        ],
      },
      shownTests: { kind: "stdin", cases: [{ input: "1\n5\n", output: "5\n" }] },
      solutions: [],
      preamble: liveCodeBenchImports,
      limits: { seconds: 6 },
      comparison: "exact",
      difficulty: "easy",
    });
  });

  it("calls have an argument per line, digits and all", () => {
    const problem = problemOf(liveCodeBench, call);
    expect(problem).toMatchObject({ entryPoint: "f", starter: call.starter_code });
    expect(problem.tests).toEqual({
      kind: "calls",
      entryPoint: "f",
      cases: [
        { arguments: '["x",{"k":1.0}]', accepted: ["[1,2]"] },
        { arguments: "[[1,2],12345678901234567890]", accepted: ["3.0"] },
      ],
    });
  });

  it("hidden tests may be plain JSON", () => {
    const private_test_cases = row.public_test_cases;
    expect(problemOf(liveCodeBench, { ...row, private_test_cases }).tests).toMatchObject({
      cases: { length: 2 },
    });
  });

  it.each([
    ["not base64 of zlib", { private_test_cases: "????" }, /private_test_cases: /],
    [
      "a pickle with a call",
      { private_test_cases: pack(Buffer.from("8004635f5f2e", "hex")) },
      /pickle: expected a single string/,
    ],
    [
      "a pickle of something else than tests",
      { private_test_cases: pack(Buffer.from("80048c027b7d942e", "hex")) },
      /tests: expected a list/,
    ],
    ["a list of something else", { private_test_cases: "[1]" }, /tests: expected a list/],
    ["no tests", { public_test_cases: "[]", private_test_cases: "[]" }, /no tests/],
    ["mixed kinds", { private_test_cases: call.public_test_cases }, /mixed/],
    ["damaged metadata", { metadata: "{" }, /metadata: /],
  ])("%s", (_, change, problem) => {
    expect(() => problemOf(liveCodeBench, { ...row, ...change })).toThrow(problem);
  });

  it("calls without a name", () => {
    expect(() => problemOf(liveCodeBench, { ...call, metadata: "{}" })).toThrow(/metadata: no func_name/);
  });
});

describe("the registry", () => {
  it("finds sets by either name, in any case, and suggests similar names", () => {
    expect(findProblemSet("OpenAI/openai_humaneval")).toBe(humanEval);
    expect(findProblemSet("MBPP")).toBe(mbpp);
    expect(suggestProblemSet("livecodebensh")).toContain("livecodebench");
  });

  it("names every field that a set reads, and no set twice", () => {
    const names = problemSets.flatMap(({ name, hub }) => [name, hub]);
    expect(new Set(names).size).toBe(names.length);
    for (const { fields, licence, source, configs } of problemSets) {
      expect(Object.keys(fields).length).toBeGreaterThan(1);
      expect(licence).not.toBe("");
      expect(source).toMatch(/arXiv \d{4}\.\d{5}|card of/);
      for (const { splits } of Object.values(configs))
        for (const { rows } of Object.values(splits)) expect(rows).toBeGreaterThan(0);
    }
  });
});

/** Not part of the repository; tests that need it are skipped if it is missing. */
const shared = path.join(import.meta.dirname, "../../../../shared/data");

describe.skipIf(!existsSync(shared))("the real data", () => {
  it.each([
    [humanEval, "HumanEval.jsonl.gz", 164],
    [coopHumanEval, "coophumaneval.json", 82],
  ])("every row is a problem", async (set, name, rows) => {
    const problems: CodeProblem[] = [];
    for await (const row of readRows({ location: path.join(shared, name), name }))
      if ("value" in row) problems.push(problemOf(set, row.value));
    expect(problems).toHaveLength(rows);
    expect(new Set(problems.map(({ id }) => id)).size).toBe(rows);
  });
});
