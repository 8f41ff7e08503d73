import { describe, expect, it } from "vitest";
import { sandbox, works } from "../testing/sandbox.ts";
import { gradeWithPython } from "./grade.ts";

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
