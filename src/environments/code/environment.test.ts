import { describe, expect, it } from "vitest";
import { conformanceChecks } from "../conformance.ts";
import type { Environment } from "../environment.ts";
import { plainReply } from "../progression.ts";
import { codeOptions } from "./options.ts";
import type { CodeState, CodeTask } from "./state.ts";
import { sandbox, works } from "./testing/sandbox.ts";
import {
  contextWith,
  goodHelper,
  goodMain,
  poorMain,
  playTexts,
  smallEnvironment,
} from "./testing/problems.ts";

const task = { id: "small/squares" };

const played = (
  environment: Environment<CodeTask, CodeState>,
  ...actions: readonly Readonly<Record<string, string>>[]
) => playTexts(environment, task, actions);

describe.runIf(works)("code", async () => {
  const definition = {
    name: "code",
    summary: "",
    options: codeOptions,
    create: () => smallEnvironment() as unknown as Environment,
  };
  const options = { phases: [["helper", "main"]], turns: 2, services: { sandbox }, tasks: 6 };
  it.each(await conformanceChecks(definition, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe.runIf(works)("a helper and a main coder", () => {
  it("share what their program earns, on the published scale divided by its maximum", async () => {
    const environment = smallEnvironment();
    const { rewards, state } = await played(environment, { helper: goodHelper, main: goodMain });
    const terms = {
      helperDefined: 0.4,
      mainDefined: 0.6,
      parses: 0.5,
      tests: 1,
      helperUsed: 0.5,
      notWrapper: 1,
      resultIgnored: 0,
    };
    const reward = { team: 1, local: 0, parts: {}, terms };
    expect(rewards[0]).toEqual({ helper: reward, main: reward });
    expect(environment.outcome(state)).toEqual({ success: true, score: 1 });
  });

  it("earn a share of the tests", async () => {
    const environment = smallEnvironment();
    const { rewards, state } = await played(environment, { helper: goodHelper, main: poorMain });
    expect(rewards[0]?.["main"]).toMatchObject({
      team: (0.4 + 0.6 + 0.5 + 0.5 + 0.5 + 1) / 4,
      reason: "2 of 4 tests fail",
    });
    expect(environment.outcome(state)).toEqual({ success: false, score: 0.5 });
    expect(environment.render(state)).toContain("2 of 4 tests pass\nfailed: assert squares([1, 2]) == 5");
  });

  it("continue after all tests pass, which the seats do not know", async () => {
    const solved = { helper: goodHelper, main: goodMain };
    const { done, state } = await played(smallEnvironment(), solved, { helper: "", main: "" });
    expect(done).toBe(false);
    expect(smallEnvironment().outcome(state)).toEqual({ success: false, score: 0 });
  });

  it("one after the other, earn what each adds; the second sees the first one's code", async () => {
    const environment = smallEnvironment();
    const { rewards, state } = await played(environment, { helper: goodHelper });
    expect(rewards[0]?.["helper"]?.team).toBeCloseTo(0.1, 9);
    expect(environment.observe(state, "main")).toContain("def aux(number):");
    const both = await played(environment, { helper: goodHelper }, { main: goodMain });
    expect(both.rewards[1]?.["main"]?.team).toBeCloseTo(0.9, 9);
  });

  it("one after the other, the second also sees the feedback of the last turn", async () => {
    const environment = smallEnvironment();
    const played1 = await played(environment, { helper: goodHelper }, { main: poorMain });
    const between = environment.endTurn?.(played1.state) as CodeState;
    const other = goodHelper.replaceAll("number", "value");
    const { state } = await environment.step(between, { helper: plainReply(other) }, contextWith());
    const seen = environment.observe(state, "main") as string;
    expect(seen).toContain(
      "Your last version of squares:\n\n```python\ndef squares(numbers):\n    total = aux(len",
    );
    expect(seen).toContain("squares calls aux and uses the result.");
    expect(seen).toContain("Your partner wrote:");
    expect(seen).toContain("def aux(value):");
    const after = await environment.step(state, { main: plainReply(goodMain) }, contextWith());
    const next = environment.endTurn?.(after.state) as CodeState;
    expect(next).not.toHaveProperty("before");
    expect(environment.observe(next, "helper")).toContain("def aux(value):");
    expect(environment.outcome(next).success).toBe(true);
  });

  it("a later turn starts over: earlier code is shown, not used", async () => {
    const environment = smallEnvironment();
    const first = await played(environment, { helper: goodHelper, main: poorMain });
    const between = environment.endTurn?.(first.state) as CodeState;
    const { rewards } = await environment.step(
      between,
      { helper: plainReply(""), main: plainReply(goodMain) },
      contextWith(),
    );
    expect(rewards["main"]?.reason).toBe("3 of 4 tests fail");
  });

  it("without a sandbox nothing runs", async () => {
    const environment = smallEnvironment();
    const state = await environment.start(task, contextWith());
    const step = async () => environment.step(state, { main: plainReply(goodMain) }, contextWith({}));
    await expect(step()).rejects.toThrow(/there is no sandbox/);
  });

  it("a task that is in no split is rejected", async () => {
    const unknown = { id: "small/other" };
    await expect(smallEnvironment().start(unknown, contextWith())).rejects.toThrow(
      "there is no problem small/other in the splits",
    );
  });
});

describe.runIf(works)("a single coder", () => {
  it("earns at most 2.1 of 2.1", async () => {
    const single = "def squares(numbers):\n    return sum(each ** 2 for each in numbers)\n";
    const { rewards } = await played(smallEnvironment(), { single });
    expect(rewards[0]?.["single"]?.team).toBeCloseTo(1, 9);
    const half = await played(smallEnvironment(), {
      single: "def squares(numbers):\n    return len(numbers)\n",
    });
    expect(half.rewards[0]?.["single"]?.team).toBeCloseTo((0.6 + 0.5 + 0.5) / 2.1, 9);
  });

  it("sees no helper", async () => {
    const environment = smallEnvironment();
    const { state } = await played(environment, { single: "nothing" });
    expect(environment.observe(state, "single")).not.toContain("aux");
  });
});
