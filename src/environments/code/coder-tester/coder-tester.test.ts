import { describe, expect, it } from "vitest";
import type { CodeProblem } from "../../../data/problem.ts";
import { conformanceChecks } from "../../conformance.ts";
import type { Environment } from "../../environment.ts";
import { problemList } from "../../problems.ts";
import { longest, playTexts, squares } from "../testing/problems.ts";
import { sandbox, works } from "../testing/sandbox.ts";
import { pairEnvironment } from "./definition.ts";
import { generatedTest } from "./grader.ts";
import { pairOptions } from "./state.ts";

const double: CodeProblem = {
  id: "small/double",
  prompt: "Print the double of a number.",
  entryPoint: null,
  tests: {
    kind: "stdin",
    cases: [
      { input: "1\n", output: "2\n" },
      { input: "4\n", output: "8\n" },
    ],
  },
  solutions: ["print(2 * int(input()))"],
};

const environment = await pairEnvironment(pairOptions.parse({}), {
  train: problemList([squares, double]),
  heldOut: problemList([longest, { ...double, id: "small/double-unsolved", solutions: [] }]),
});

const played = (id: string, ...actions: readonly Readonly<Record<string, string>>[]) =>
  playTexts(environment, { id }, actions);

const right = "```python\nprint(2 * int(input()))\n```";
const wrong = "```python\nprint(2 + int(input()))\n```";
const test = (input: string, output: string): string =>
  `**Test Input:**\n\`\`\`\n${input}\n\`\`\`\n**Test Output:**\n\`\`\`\n${output}\n\`\`\``;

describe.runIf(works)("coder-tester", async () => {
  const definition = {
    name: "coder-tester",
    summary: "",
    options: pairOptions,
    create: () => environment as unknown as Environment,
  };
  const options = { phases: [["coder", "tester"]], turns: 2, services: { sandbox }, tasks: 6 };
  it.each(await conformanceChecks(definition, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe.runIf(works)("a coder and a tester", () => {
  it("agree on a right answer: each earns its own reward, and the episode ends", async () => {
    const { rewards, done, state } = await played("small/double", { coder: right, tester: test("3", "6") });
    expect(rewards[0]).toEqual({
      coder: { team: 1, local: 1, parts: { build: 0.1, run: 0.1, tests: 0.8 } },
      tester: { team: 0, local: 1, parts: { valid: 0.2, reference: 0.8 } },
    });
    expect(done).toBe(true);
    expect(environment.outcome(state)).toEqual({ success: true, score: 1 });
  });

  it("disagree: both see the difference, and the episode continues", async () => {
    const first = await played("small/double", { coder: wrong, tester: test("3", "6") });
    expect(first.done).toBe(false);
    expect(first.rewards[0]?.["coder"]).toMatchObject({ team: 0, local: 0.2, reason: "2 of 2 tests fail" });
    expect(first.rewards[0]?.["tester"]).toMatchObject({ team: 0, local: 1 });
    const seen = environment.observe(first.state, "coder");
    expect(seen).toContain("The last program:\n\n```python\nprint(2 + int(input()))\n```");
    expect(seen).toContain("The last test:\n\n```\nInput:\n3\nOutput:\n6\n```");
    expect(seen).toContain('They do not agree. The program on the test: printed "5"');
    expect(environment.observe(first.state, "tester")).toContain("They do not agree.");
    const tester = test("3", "6");
    const second = await played("small/double", { coder: wrong, tester }, { coder: right, tester });
    expect(second.done).toBe(true);
  });

  it("agree on a wrong answer: the episode ends without success, and the tester does not earn for the result", async () => {
    const { rewards, done, state } = await played("small/double", { coder: wrong, tester: test("3", "5") });
    expect(done).toBe(true);
    expect(environment.outcome(state).success).toBe(false);
    expect(rewards[0]?.["tester"]).toMatchObject({ team: 0, local: 0.2 });
  });

  it("have no reward for a test without a reference solution; a text without a test earns 0", async () => {
    const { rewards } = await played("small/double-unsolved", { coder: right, tester: test("3", "6") });
    expect(rewards[0]?.["tester"]).toBeNull();
    const none = await played("small/double-unsolved", { coder: right, tester: "6" });
    expect(none.rewards[0]?.["tester"]).toMatchObject({ local: 0, reason: "no test found" });
  });

  it("earn less for programs that crash or do not parse", async () => {
    const crash = await played("small/double", { coder: "print(1 / 0)", tester: "" });
    expect(crash.rewards[0]?.["coder"]?.parts).toEqual({ build: 0.1, run: 0, tests: 0 });
    const none = await played("small/double", { coder: "print(", tester: "" });
    expect(none.rewards[0]?.["coder"]).toMatchObject({ local: 0, reason: "no program found" });
    expect(environment.outcome(none.state)).toEqual({ success: false, score: 0 });
  });

  it("can solve functions", async () => {
    const coder = "def squares(numbers):\n    return sum(each ** 2 for each in numbers)\n";
    const same = await played("small/squares", { coder, tester: "assert squares([2, 3]) == 13" });
    expect([same.done, same.rewards[0]?.["tester"]?.local]).toEqual([true, 1]);
    const other = await played("small/squares", { coder, tester: "assert squares([2, 3]) == 12" });
    expect(environment.observe(other.state, "coder")).toContain("The program on the test: got 13");
  });

  it("end the episode alone by repeating a program, or by agreement with their own test", async () => {
    const repeated = await played("small/double", { single: wrong }, { single: right }, { single: right });
    expect([repeated.done, environment.outcome(repeated.state).success]).toEqual([true, true]);
    expect((await played("small/double", { single: wrong }, { single: right })).done).toBe(false);
    const verified = await played("small/double", { verifier: `${right}\n${test("3", "6")}` });
    expect([verified.done, verified.rewards[0]?.["verifier"]?.team]).toEqual([true, 1]);
  });
});

describe.runIf(works)("generatedTest", () => {
  it.each([
    ["assert f(1) == 2", "assert f(1) == 2"],
    [
      "Here:\n```python\nassert f([1, (2, 'a')], key={'b': None}) == -1.5\n```",
      "assert f([1, (2, 'a')], key={'b': None}) == -1.5",
    ],
    ["assert f(1) == 2\nassert f(2) == 3", "assert f(2) == 3"],
    ["Let us see.\nassert f(1) == 2, 'wrong'\nThat's it.", "assert f(1) == 2"],
    ["assert f(open('x')) == 2", null],
    ["assert f(1) == __import__('os').system('ls')", null],
    ["assert g(1) == 2", null],
    ["assert f(1) == f(1)", null],
    ["assert f(*[1]) == 2", null],
    ["assert f(1) != 2", null],
    ["assert True", null],
    ["f(1) == 2", null],
    [`assert f(${"(".repeat(3000)}`, null],
  ])("%j is %j", async (text, source) => {
    const found = await generatedTest(sandbox, { entryPoint: "f" }, text);
    expect(found?.kind === "assertion" ? found.source : found).toBe(source);
  });

  it.each([
    ["Input:\n```\n1 2\n```\nOutput:\n```\n3\n```", { input: "1 2\n", output: "3\n" }],
    [
      "**Test Input:**\n\n```text\na\n```\n**Test Output:**\n\n```\nb\n```\nok",
      { input: "a\n", output: "b\n" },
    ],
    ["Input:\n1\nOutput:\n2", null],
    ["Output:\n```\n1\n```", null],
    ["Input:\n```\n1\n```\nOutput:\n```\n\n```", null],
    [
      "Input:\n```\n1\n```\nInput:\n```\n2\n```\nOutput:\n```\n3\n```\nInput:\n```\n4",
      { input: "1\n", output: "3\n" },
    ],
    ["Input:\n```\nOutput:\n```\nOutput:\n\n```\n2\n ```", { input: "Output:\n", output: "2\n" }],
    // Takes minutes if each label is tried with each fence.
    ["Input:\n```\n```\n".repeat(1200), null],
  ])("%j is the pair %j", async (text, pair) => {
    const found = await generatedTest(sandbox, { entryPoint: null }, text);
    expect(found).toEqual(pair && { kind: "run", ...pair });
  });
});
