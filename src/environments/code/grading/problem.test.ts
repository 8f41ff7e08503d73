import { describe, expect, it } from "vitest";
import type { RecordedCall } from "../../../calls/recorded.ts";
import { unrecordedCalls } from "../../../calls/recorded.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { squares } from "../testing/problems.ts";
import { sandbox, works } from "../testing/sandbox.ts";
import { gradeWithPython } from "./grade.ts";
import { gradeProblem } from "./problem.ts";
import { endKept } from "../../../sandbox/sessions.ts";
import { atEndOfFile } from "../../../test-end.ts";

/** Counts the sessions that are started. */
function counting(): { readonly counted: Sandbox; readonly started: () => number } {
  let started = 0;
  const start: Sandbox["start"] = (program, signal) => {
    started++;
    return sandbox.start(program, signal);
  };
  const counted = { backend: sandbox.backend, run: sandbox.run.bind(sandbox), start, close: async () => {} };
  // Sessions that it keeps are not told to give way to those of later files in this process.
  atEndOfFile(() => endKept(counted));
  return {
    counted,
    started: () => started,
  };
}

const program = { program: "def squares(numbers):\n    return len(numbers)\n", preamble: "" };

describe.runIf(works)("gradeProblem", () => {
  it("computes a report once: a resumed run finds it", async () => {
    const { counted, started } = counting();
    const recorded = unrecordedCalls();
    const context = { signal: new AbortController().signal, services: { recorded } };
    const setting = { sandbox: counted, context, problem: squares, entryPoint: "squares", seconds: 2 };
    const first = await gradeProblem({ ...setting, comparison: "close" }, program);
    expect(first.tests.map(({ passed }) => passed)).toEqual([false, true, false, true]);
    const sessions = started();
    expect(sessions).toBeGreaterThan(0);
    expect(await gradeProblem({ ...setting, comparison: "close" }, program)).toEqual(first);
    expect(started()).toBe(sessions);
    const third = await gradeProblem({ ...setting, comparison: "close", seconds: 3 }, program);
    expect(third).toEqual(first);
    expect(started()).toBeGreaterThan(sessions);
  });

  it("computes a report once for episodes that need it at the same time", async () => {
    const { counted, started } = counting();
    const context = { signal: new AbortController().signal, services: { recorded: unrecordedCalls() } };
    const setting = { sandbox: counted, context, problem: squares, entryPoint: "squares", seconds: 4 };
    const other = { ...program, program: `${program.program}# another\n` };
    await gradeProblem({ ...setting, comparison: "close" }, other);
    const once = started();
    const grade = () => gradeProblem({ ...setting, comparison: "close" }, program);
    const reports = await Promise.all([grade(), grade(), grade()]);
    expect(reports[1]).toEqual(reports[0]);
    expect(started() - once).toBeLessThanOrEqual(once);
  });

  it("records nothing of what was cancelled", async () => {
    const put: RecordedCall[] = [];
    const recorded = {
      ...unrecordedCalls(),
      put: async (calls: readonly RecordedCall[]) => void put.push(...calls),
    };
    const cancel = new AbortController();
    const context = { signal: cancel.signal, services: { recorded } };
    const setting = { sandbox, context, problem: squares, entryPoint: "squares", seconds: 30 };
    const endless = { program: "def squares(numbers):\n    while True: pass\n", preamble: "" };
    const grading = gradeProblem({ ...setting, comparison: "close" }, endless);
    setTimeout(() => cancel.abort(), 300);
    await expect(grading).rejects.toThrow(/cancel/i);
    expect(put).toEqual([]);
  });
});

describe.runIf(works)("the tests of one problem", () => {
  it("do not see changes made by those of another", async () => {
    const request = { program: "def f():\n    return 1\n", entryPoint: "f", preamble: "", seconds: 5 };
    const asserts = (setup: string, text: string) => ({
      ...request,
      tests: { kind: "asserts" as const, setup, asserts: [text] },
    });
    const first = await gradeWithPython(
      sandbox,
      asserts("import builtins\nbuiltins.extra = 1", "assert f() == extra"),
    );
    const second = await gradeWithPython(sandbox, asserts("", "assert f() == extra"));
    expect(first.tests.map(({ passed }) => passed)).toEqual([true]);
    expect(second.tests.map(({ passed }) => passed)).toEqual([false]);
  });
});
