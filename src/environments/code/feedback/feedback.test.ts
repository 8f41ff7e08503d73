import { describe, expect, it } from "vitest";
import { plainReply } from "../../progression.ts";
import { codeOptions } from "../options.ts";
import { works } from "../testing/sandbox.ts";
import { contextWith, goodHelper, goodMain, poorMain, smallEnvironment } from "../testing/problems.ts";

/** What both seats see in the second turn. */
async function shown(
  options: object,
  helper: string = goodHelper,
  main: string = poorMain,
): Promise<{ readonly helper: string; readonly main: string }> {
  const environment = smallEnvironment(options);
  const start = await environment.start({ id: "small/squares" }, contextWith());
  const replies = { helper: plainReply(helper), main: plainReply(main) };
  const { state } = await environment.step(start, replies, contextWith());
  const next = environment.endTurn?.(state) ?? state;
  const see = (seat: string): string => environment.observe(next, seat) as string;
  return { helper: see("helper"), main: see("main") };
}

/** What a mode adds to the problem and the last code. */
const bare = { originalPrompt: false, previousResponse: false };

describe.runIf(works)("feedback", () => {
  it("level_feedback names the functions found, the failing tests that may be shown, and how the helper is used", async () => {
    const seen = await shown({ ...bare, feedback: "level_feedback", sandboxSlice: 2 });
    expect(seen.helper).toBe(
      "aux: found\nsquares: found\nSyntax: correct\nTests: 1 of 2 pass\n- assert squares([1, 2]) == 5: got 4\n\n" +
        "Revise aux accordingly.",
    );
    expect(seen.main).toBe(
      "squares: found\naux: found\nSyntax: correct\nTests: 1 of 2 pass\n- assert squares([1, 2]) == 5: got 4\n" +
        "squares calls aux and uses the result.\n\nRevise squares accordingly.",
    );
  });

  it("level_feedback reports syntax errors with their place, and wrappers", async () => {
    const broken = await shown(bare, goodHelper, "def squares(n):\n    return (n\n");
    expect(broken.main).toContain(
      "Syntax: '(' was never closed in line 2, column 12 of squares\nTests: not run",
    );
    const wrapper = await shown(bare, goodHelper, "def squares(n):\n    return aux(n)\n");
    expect(wrapper.main).toContain("squares only hands on what aux returns");
    const missing = await shown(bare, "", "def squares(n):\n    print(n)\n");
    expect(missing.helper).toContain("aux: not found\nsquares: found, but it returns nothing");
  });

  it("level_passed gives signals only", async () => {
    const seen = await shown({ ...bare, feedback: "signals" });
    expect(seen.helper).toBe("aux: found\nSyntax: correct\nTests: not all pass\n\nRevise aux accordingly.");
    expect(seen.main).toBe(
      "squares: found\nSyntax: correct\nTests: not all pass\nCalls aux: yes\n\nRevise squares accordingly.",
    );
  });

  it("passed gives one signal, of the tests that may be shown", async () => {
    const first = await shown({ ...bare, feedback: "passed" });
    expect(first.main).toBe("Not all checks passed.\n\nRevise squares accordingly.");
    const second = await shown({ ...bare, feedback: "passed", sandboxSlice: -1 });
    expect(second.main).toBe("All checks passed.\n\nRevise squares accordingly.");
  });

  it("plain shows nothing but the problem and the last code", async () => {
    expect((await shown({ ...bare, feedback: "plain" })).main).toBe("Revise squares accordingly.");
    const seen = await shown({ feedback: "plain" });
    expect(seen.main).toMatch(
      /^Problem:\n\n```python\ndef squares.*Your last version of squares:\n\n```python\n/s,
    );
    expect(seen.helper).toContain("Your last version of aux:\n\n```python\ndef aux(number):");
    expect(seen.helper).not.toContain("total");
    const nothing = await shown({ feedback: "plain" }, "no code");
    expect(nothing.helper).toContain("Your last version of aux:\n\n(no function found)");
  });

  it("partner shows the other seat's last code, and nothing about tests", async () => {
    const seen = await shown({ feedback: "partner" });
    expect(seen.helper).toMatch(
      /Your last version of aux:.*Your partner's last version of squares:\n\n```python\ndef squares/s,
    );
    expect(seen.main).toMatch(/Your last version of squares:.*Your partner's last version of aux:.*def aux/s);
    expect(`${seen.helper}${seen.main}`).not.toContain("pass");
    const nothing = await shown({ ...bare, feedback: "partner" }, "no code");
    expect(nothing.main).toBe(
      "Your partner's last version of aux:\n\n(no function found)\n\nRevise squares accordingly.",
    );
  });

  it("partner shows a single seat only its own code", async () => {
    const environment = smallEnvironment({ feedback: "partner" });
    const start = await environment.start({ id: "small/squares" }, contextWith());
    const { state } = await environment.step(start, { single: plainReply(goodMain) }, contextWith());
    const seen = environment.observe(environment.endTurn?.(state) ?? state, "single") as string;
    expect(seen).toContain("Your last version of squares:");
    expect(seen).not.toContain("partner");
  });

  it.each([
    [1, "Tests: 0 of 1 pass"],
    [-1, "Tests: 1 of 1 pass"],
    [-2, "Tests: 1 of 2 pass"],
    [0, "Tests: 2 of 4 pass"],
    [null, "Tests: 2 of 4 pass"],
    [9, "Tests: 2 of 4 pass"],
  ])("a slice of %s shows %s", async (sandboxSlice, line) => {
    expect((await shown({ ...bare, sandboxSlice })).main).toContain(line);
  });

  it("all tests count for the reward, whatever is shown", async () => {
    const environment = smallEnvironment({ sandboxSlice: 1 });
    const start = await environment.start({ id: "small/squares" }, contextWith());
    const replies = { helper: plainReply(goodHelper), main: plainReply(goodMain) };
    const { rewards } = await environment.step(start, replies, contextWith());
    expect(rewards["main"]?.terms).toMatchObject({ tests: 1 });
  });
});

describe("the options", () => {
  it("have the published aliases", () => {
    const modes = ["expert", "edits", "feedback", "signals", "passed", "plain"].map(
      (feedback) => codeOptions.parse({ feedback }).feedback,
    );
    expect(modes).toEqual([
      "expert_edits",
      "expert_edits",
      "level_feedback",
      "level_passed",
      "passed",
      "plain",
    ]);
    expect(codeOptions.safeParse({ feedback: "other" }).success).toBe(false);
  });

  it.each([
    [{}, false],
    [{ sandboxSlice: null }, true],
    [{ sandboxSlice: 0, feedback: "passed" }, true],
    [{ sandboxSlice: 0, feedback: "plain" }, false],
    [{ sandboxSlice: 0, feedback: "partner" }, false],
    [{ sandboxSlice: -2 }, false],
  ])("%j shows all tests that pay: %s", (options, warned) => {
    const { warnings = [] } = smallEnvironment(options);
    expect(warnings.map(({ key }) => key)).toEqual(warned ? ["sandboxSlice"] : []);
  });
});
