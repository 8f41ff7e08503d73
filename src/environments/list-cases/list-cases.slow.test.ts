import { assert, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { contextWith, playTexts } from "../code/testing/problems.ts";
import { sandbox, works } from "../code/testing/sandbox.ts";
import { conformanceChecks } from "../conformance.ts";
import type { Environment } from "../environment.ts";
import { answer, behaviourOf, inputs } from "../list-programs/task.ts";
import { plainReply } from "../progression.ts";
import { evaluationTasks } from "../tasks.ts";
import { listCases, type CaseState } from "./definition.ts";
import { readCase } from "./grader.ts";
import {
  drawTask,
  isTelling,
  numbers,
  programOf,
  statementOf,
  withNumber,
  words,
  type Task,
} from "./task.ts";

const create = async (given: object) =>
  (await listCases.create(listCases.options.parse(given))) as unknown as Environment<Task, CaseState>;
const environment = await create({});

const task: Task = {
  filter: { name: "above", by: 3 },
  transforms: [
    { name: "plus", by: 2 },
    { name: "atMost", by: 7 },
  ],
  reduction: { name: "sorted", by: 0 },
};
const right = programOf(task);
const wrong = programOf(withNumber(task, 9));

const played = async (given: object, ...turns: readonly Readonly<Record<string, string>>[]) =>
  playTexts(await create(given), task, turns);

function behavioursOf(split: "train" | "validation" | "heldOut", count: number): Set<string> {
  const tasks = Array.from({ length: count }, (_, index) => drawTask(split, childKey(rootKey(1), index)));
  return new Set(tasks.map((one) => behaviourOf(one)));
}

describe.runIf(works)("list-cases", async () => {
  const options = { phases: [["coder", "tester"]], turns: 2, services: { sandbox }, tasks: 3 };
  it.each(await conformanceChecks(listCases, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe("a task", () => {
  it("is stated whole and without the number, and solved", () => {
    expect(statementOf(task, true)).toBe("numbers above 3 ; plus 2 then at most 7 ; sorted");
    expect(statementOf(task, false)).toBe("numbers above 3 ; plus 2 then at most ? ; sorted");
    expect(right).toBe("def solve ( xs ) : return sorted ( [ min ( ( x + 2 ) , 7 ) for x in xs if x > 3 ] )");
  });

  it("keeps held-out behaviours out of training", () => {
    const train = behavioursOf("train", 6000);
    expect(train.size).toBeGreaterThan(1000);
    for (const split of ["validation", "heldOut"] as const)
      expect([...behavioursOf(split, 500)].filter((one) => train.has(one))).toEqual([]);
  });

  it("behaves like no other task of an evaluation, which finds all 231 and 672 behaviours", async () => {
    for (const [split, count] of [
      ["validation", 231],
      ["heldOut", 672],
    ] as const) {
      const found = await evaluationTasks(environment, split, 1000);
      expect(new Set(found.map((one) => behaviourOf(one.task))).size).toBe(count);
      expect(found).toHaveLength(count);
    }
  });

  it("has cases that reveal its number: here those whose number is kept", () => {
    expect([1, 2, 11, 12].map((number) => isTelling(task, number))).toEqual([false, false, true, true]);
  });

  it("uses known words only", () => {
    const known = new Set(words);
    assert(
      property(integer({ min: 0, max: 2 ** 31 }), (seed) => {
        const drawn = drawTask("train", rootKey(seed));
        const texts = [
          statementOf(drawn, true),
          ...numbers.map((by) => programOf(withNumber(drawn, by))),
          ...(environment.oracle?.demonstrations?.(rootKey(seed), ["coder", "tester"]) ?? []).flatMap(
            ({ observation, action }) => [observation, action],
          ),
        ];
        expect(texts.flatMap((text) => text.split(" ")).filter((word) => !known.has(word))).toEqual([]);
      }),
    );
  });
});

describe("readCase", () => {
  it.each([
    ["assert solve ( [ 2 ] ) == [ 18 ]", { number: 2, result: [18] }],
    ["assert solve([12]) == -5", { number: 12, result: -5 }],
    ["assert solve ( [ 2 ] ) == [ ]", { number: 2, result: [] }],
    ["assert solve ( [ 13 ] ) == 1", null],
    ["assert solve ( [ 02 ] ) == 1", null],
    ["assert solve ( [ 1 , 2 ] ) == 1", null],
    ["assert solve ( [ ] ) == 0", null],
    ["assert solve ( [ 2 ] ) == solve ( [ 2 ] )", null],
    ["assert solve ( [ 2 ] ) == [ 1 2 ]", null],
    ["assert solve ( [ 2 ] ) == 1 or True", null],
    ["assert True", null],
  ])("%j is %j", (text, expected) => expect(readCase(text)).toEqual(expected));
});

describe.runIf(works)("a coder and a tester", () => {
  it("agree when the coder draws the conclusion from a case", async () => {
    const tester = "assert solve ( [ 11 ] ) == [ 7 ]";
    const { rewards, done, outcome } = await played({}, { coder: wrong, tester }, { coder: right, tester });
    expect(rewards[0]?.["coder"]).toMatchObject({ parts: { build: 0.1, run: 0.1 } });
    expect(rewards[0]?.["tester"]).toEqual({ team: 0, local: 1, parts: { valid: 0.2, reference: 0.8 } });
    expect(rewards[1]?.["coder"]).toMatchObject({ team: 1, local: 1 });
    expect([done, outcome]).toEqual([true, { success: true, score: 1 }]);
  });

  it("see program, case and result in the second turn, and only the tester the number", async () => {
    const { state } = await played({}, { coder: wrong, tester: "assert solve ( [ 11 ] ) == [ 7 ]" });
    const shown = `program ${wrong} | case assert solve ( [ 11 ] ) == [ 7 ] | got [ 9 ]`;
    expect(environment.observe(state, "coder")).toBe(`coder : ${statementOf(task, false)} | ${shown}`);
    expect(environment.observe(state, "tester")).toBe(`tester : ${statementOf(task, true)} | ${shown}`);
  });

  it("hidden tests of a program have the answers of the task", async () => {
    for (let seed = 0; seed < 4; seed++) {
      const drawn = drawTask("heldOut", rootKey(seed));
      const state = await environment.start(drawn, contextWith());
      const replies = { coder: plainReply(programOf(drawn)), tester: plainReply("") };
      const result = await environment.step(state, replies, contextWith());
      expect(environment.outcome(result.state)).toEqual({ success: true, score: 1 });
      expect(result.state.pair.hidden?.total).toBe(inputs.length);
    }
  });
});

describe.runIf(works)("cannot be farmed by", () => {
  it("a true case that every program agrees with: it is not valid, and does not end the episode", async () => {
    const tester = "assert solve ( [ 2 ] ) == [ ]";
    const { rewards, done } = await played({}, { coder: wrong, tester });
    expect(rewards[0]?.["tester"]).toMatchObject({ team: 0, local: 0, reason: "no test found" });
    expect(done).toBe(false);
    const published = await played({ telling: false }, { coder: wrong, tester });
    expect(published.rewards[0]?.["tester"]?.local).toBe(1);
    expect([published.done, published.outcome.success]).toEqual([true, false]);
  });

  it("agreement on something wrong: it ends the episode, and neither is paid for it", async () => {
    const { rewards, done, outcome } = await played(
      {},
      { coder: wrong, tester: "assert solve ( [ 11 ] ) == [ 9 ]" },
    );
    expect([done, outcome.success]).toEqual([true, false]);
    expect(rewards[0]?.["tester"]).toMatchObject({ team: 0, local: 0.2 });
    const apart = await played({}, { coder: wrong, tester: "assert solve ( [ 11 ] ) == [ 7 ]" });
    expect(rewards[0]?.["coder"]).toEqual(apart.rewards[0]?.["coder"]);
  });

  it("a program that only passes the shown case: it earns little and is no success", async () => {
    const coder = "def solve ( xs ) : return [ 7 ]"; // right for [7] too
    const { rewards, done, outcome } = await played(
      {},
      { coder, tester: "assert solve ( [ 11 ] ) == [ 7 ]" },
    );
    expect([done, outcome]).toEqual([true, { success: false, score: 1 / 8 }]);
    expect(rewards[0]?.["coder"]?.team).toBe(1 / 8);
  });

  it("the same constant, whatever the task: half of the tests at most", () => {
    assert(
      property(integer({ min: 0, max: 2 ** 31 }), (seed) => {
        const drawn = drawTask("train", rootKey(seed));
        const answers = inputs.map((xs) => JSON.stringify(answer(drawn, xs)));
        const most = Math.max(...answers.map((one) => answers.filter((other) => other === one).length));
        expect(most / inputs.length).toBeLessThanOrEqual(0.5);
      }),
    );
  });

  it("a program that prints, exits or raises", async () => {
    for (const body of ["exit ( 0 )", "print ( [ 7 ] )", "1 / 0"]) {
      const { rewards, done } = await played(
        {},
        { coder: `def solve ( xs ) : return ${body}`, tester: "assert solve ( [ 11 ] ) == [ 7 ]" },
      );
      expect(rewards[0]?.["coder"]?.team).toBe(0);
      expect(done).toBe(false);
    }
  });
});
