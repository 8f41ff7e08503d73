import { assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { contextWith } from "../code/testing/problems.ts";
import { sandbox, works } from "../code/testing/sandbox.ts";
import { conformanceChecks } from "../conformance.ts";
import type { Environment } from "../environment.ts";
import { plainReply } from "../progression.ts";
import { evaluationTasks } from "../tasks.ts";
import { listPrograms, type ListProgramState } from "./definition.ts";
import { demonstrate, words } from "./demonstrations.ts";
import { observationOf } from "./observe.ts";
import { described, divisions, solved, whole } from "./programs.ts";
import { answer, behaviourOf, drawTask, type Task } from "./task.ts";

const environment = (await listPrograms.create(listPrograms.options.parse({}))) as unknown as Environment<
  Task,
  ListProgramState
>;

const task: Task = {
  filter: { name: "above", by: 3 },
  transforms: [
    { name: "plus", by: 2 },
    { name: "times", by: 4 },
  ],
  reduction: { name: "sum", by: 0 },
};

async function played(of: Task, texts: { readonly helper: string; readonly main: string }) {
  const state = await environment.start(of, contextWith());
  const replies = { helper: plainReply(texts.helper), main: plainReply(texts.main) };
  const result = await environment.step(state, replies, contextWith());
  return { ...result, outcome: environment.outcome(result.state) };
}

function behavioursOf(split: "train" | "validation" | "heldOut", count: number): Set<string> {
  const tasks = Array.from({ length: count }, (_, index) => drawTask(split, childKey(rootKey(1), index)));
  return new Set(tasks.map((one) => behaviourOf(one)));
}

describe.runIf(works)("list-programs", async () => {
  const options = { phases: [["helper", "main"]], turns: 1, services: { sandbox }, tasks: 3 };
  it.each(await conformanceChecks(listPrograms, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe("a task", () => {
  it("is described, solved and answered", () => {
    expect(described(task)).toBe("numbers above 3 ; plus 2 then times 4 ; sum");
    const [filtered, changed] = ["for x in xs if x > 3 ]", "( x + 2 ) * 4"];
    expect(solved(task, "number")).toEqual({
      helper: `def aux ( x ) : return ${changed}`,
      main: `def solve ( xs ) : ys = [ aux ( x ) ${filtered} ; return sum ( ys )`,
    });
    expect(solved(task, "selection")).toEqual({
      helper: `def aux ( xs ) : return [ x ${filtered}`,
      main: `def solve ( xs ) : ys = aux ( xs ) ; return sum ( [ ${changed} for x in ys ] )`,
    });
    expect(solved(task, "list")).toEqual({
      helper: `def aux ( xs ) : return [ ${changed} ${filtered}`,
      main: "def solve ( xs ) : ys = aux ( xs ) ; return sum ( ys )",
    });
    expect(solved(task, "result")).toEqual({
      helper: "def aux ( ys ) : return sum ( ys )",
      main: `def solve ( xs ) : ys = [ ${changed} ${filtered} ; return aux ( ys )`,
    });
    expect(answer(task, [3, 4, 10])).toBe((4 + 2) * 4 + (10 + 2) * 4);
  });

  it("keeps held-out behaviours out of training", () => {
    const train = behavioursOf("train", 4000);
    expect(train.size).toBeGreaterThan(2000);
    for (const split of ["validation", "heldOut"] as const) {
      expect([...behavioursOf(split, 500)].filter((one) => train.has(one))).toEqual([]);
    }
  });

  it("behaves like no other task of an evaluation", async () => {
    for (const split of ["validation", "heldOut"]) {
      const found = await evaluationTasks(environment, split, 1000);
      expect(new Set(found.map((one) => behaviourOf(one.task))).size).toBe(1000);
    }
  });

  it("uses known words only", () => {
    const known = new Set(words());
    assert(
      property(integer({ min: 0, max: 2 ** 31 }), (seed) => {
        const drawn = drawTask("train", rootKey(seed));
        const texts = [described(drawn), ...divisions.flatMap((one) => Object.values(solved(drawn, one)))];
        expect(texts.flatMap((text) => text.split(" ")).filter((word) => !known.has(word))).toEqual([]);
      }),
    );
  });
});

describe("demonstrations", () => {
  const own = solved(task, "number");
  const theirs = solved(task, "list");

  it("have observations of what the seat would see", () => {
    const text = described(task);
    expect(observationOf(task, {}, undefined, "main")).toBe(text);
    expect(observationOf(task, { helper: own.helper }, undefined, "main")).toBe(`${text} ; ${own.helper}`);
    const last = { helper: own.helper, main: theirs.main };
    expect(observationOf(task, {}, last, "helper")).toBe(`${text} ; ${own.helper} ; ${theirs.main}`);
    expect(observationOf(task, {}, last, "main")).toBe(`${text} ; ${theirs.main} ; ${own.helper}`);
    // In a later turn the partner's new code replaces both.
    expect(observationOf(task, { helper: theirs.helper }, last, "main")).toBe(`${text} ; ${theirs.helper}`);
    expect(observationOf(task, {}, { main: whole(task) }, "single")).toBe(`${text} ; ${whole(task)}`);
  });

  it("fit what the helper wrote before, and in revisions either keep the division or change to the partner's", () => {
    const count = { after: 0, kept: 0, changed: 0 };
    for (let seed = 0; seed < 200; seed++) {
      const drawn = drawTask("train", childKey(rootKey(seed), "task"));
      const [example] = demonstrate({ divisions, situations: ["after", "revision"] }, rootKey(seed), [
        "main",
      ]);
      const [, ...shown] = (example?.observation ?? "").split(/ ; (?=def)/);
      const divisionOf = (seat: "helper" | "main", code: string | undefined) =>
        divisions.find((one) => solved(drawn, one)[seat] === code);
      const result = divisionOf("main", example?.action);
      const partner = divisionOf("helper", shown.at(-1));
      const fitting = shown.length === 1 ? [partner] : [divisionOf("main", shown[0]), partner];
      expect(fitting).toContain(result);
      count[shown.length === 1 ? "after" : result === partner ? "changed" : "kept"]++;
    }
    expect(Math.min(...Object.values(count))).toBeGreaterThan(20);
  });
});

describe.runIf(works)("programs", () => {
  it("of a single agent pass all tests", async () => {
    for (let seed = 0; seed < 5; seed++) {
      const drawn = drawTask("heldOut", rootKey(seed));
      const state = await environment.start(drawn, contextWith());
      const result = await environment.step(state, { single: plainReply(whole(drawn)) }, contextWith());
      expect(environment.outcome(result.state)).toEqual({ success: true, score: 1 });
      expect(result.rewards["single"]).toMatchObject({ team: 1, terms: { mainDefined: 0.6, tests: 1 } });
    }
  });

  it("are revised in a discussion, solved or not", async () => {
    const given = listPrograms.options.parse({ feedback: "partner" });
    const discussion = (await listPrograms.create(given)) as unknown as typeof environment;
    const texts = solved(task, "list");
    const replies = { helper: plainReply(texts.helper), main: plainReply(texts.main) };
    const start = await discussion.start(task, contextWith());
    const { state, done } = await discussion.step(start, replies, contextWith());
    expect([done, environment.outcome(state).success]).toEqual([false, true]);
    const next = discussion.endTurn?.(state) ?? state;
    expect(discussion.observe(next, "main")).toBe(`${described(task)} ; ${texts.main} ; ${texts.helper}`);
    const { rewards } = await discussion.step(next, replies, contextWith());
    expect(rewards["main"]?.team).toBeCloseTo(1, 9);
  });

  it.each(divisions)("of one division pass all tests, whatever the task: %s", async (division) => {
    for (let seed = 0; seed < 5; seed++) {
      const drawn = drawTask("heldOut", rootKey(seed));
      const { outcome, rewards } = await played(drawn, solved(drawn, division));
      expect(outcome).toEqual({ success: true, score: 1 });
      expect(rewards["main"]?.team).toBeCloseTo(1, 9);
    }
  });

  it("of different divisions pass at most one test of eight, that with an empty list", async () => {
    const pairs = divisions.flatMap((helper) => divisions.map((main) => [helper, main] as const));
    for (const [helper, main] of pairs.filter(([one, other]) => one !== other)) {
      const texts = { helper: solved(task, helper).helper, main: solved(task, main).main };
      const { outcome } = await played(task, texts);
      expect(outcome.score).toBeLessThanOrEqual(1 / 8);
    }
  });

  it("that ignore the helper's result earn less than those that use it", async () => {
    const { main } = solved(task, "number");
    const alone = main.replace("aux ( x )", "( x + 2 ) * 4");
    const { rewards, outcome } = await played(task, {
      helper: solved(task, "number").helper,
      main: alone,
    });
    expect(outcome.success).toBe(true);
    expect(rewards["main"]?.team).toBeCloseTo(2.5 / 4, 9);
  });
});
