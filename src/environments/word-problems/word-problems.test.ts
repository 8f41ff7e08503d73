import { assert, constantFrom, integer, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { childKey, rootKey } from "../../random.ts";
import { contextWith } from "../code/testing/problems.ts";
import { sandbox, works } from "../code/testing/sandbox.ts";
import { conformanceChecks } from "../conformance.ts";
import type { Environment } from "../environment.ts";
import { plainReply } from "../progression.ts";
import type { GameSplit } from "../tasks.ts";
import { wordProblems } from "./definition.ts";
import type { SeatName, WordState } from "./step.ts";
import {
  linesIn,
  linesOf,
  planOf,
  programOf,
  valuesOf,
  answer,
  amounts,
  calculationOf,
  described,
  drawTask,
  operatorOf,
  splitOf,
  taskSchema,
  words,
  type Task,
} from "./task.ts";

const create = (given: object = {}) =>
  wordProblems.create(wordProblems.options.parse(given)) as unknown as Environment<Task, WordState>;
const environment = create();

const task: Task = {
  name: "ann",
  thing: "coins",
  start: 7,
  events: [
    { phrase: "finds", by: 5 },
    { phrase: "parts", by: 3 },
    { phrase: "times", by: 2 },
  ],
};
const plan = "a = 7 + 5 ; b = a / 3 ; c = b * 2";
const program = "a = 7 + 5 ; b = a // 3 ; c = b * 2 ; print ( a , b , c )";

const phraseOf = { "+": "finds", "-": "loses", "*": "times", "/": "parts" };

/** Of "7 + 5 / 3". */
function calculated(steps: string): string {
  const [start, ...rest] = steps.split(" ");
  const events = [...rest.join(" ").matchAll(/([-+*/]) (\d)/g)].map(([, operator = "", by]) => ({
    phrase: phraseOf[operator as keyof typeof phraseOf],
    by: Number(by),
  }));
  return calculationOf({ ...task, start: Number(start), events });
}

function inOrder(list: readonly number[]): string {
  return list.toSorted((left, right) => left - right).join();
}

/** An independent account: what is added to each other, or multiplied with each other, in order of size. */
function sorted({ start, events }: Task): string {
  const signs = events.map((one) => operatorOf(one));
  const isSum = signs.map((sign) => sign === "+" || sign === "-");
  const numbers = events.map(({ by }, index) =>
    signs[index] === "-" ? -by : signs[index] === "/" ? 1 / by : by,
  );
  const same = isSum.findIndex((sum) => sum !== isSum[0]);
  const count = same < 0 ? events.length : same;
  const rest = numbers.slice(count);
  const tail = rest.length === 2 && isSum[1] === isSum[2] ? inOrder(rest) : rest.join();
  return [isSum.join(), inOrder([start, ...numbers.slice(0, count)]), tail].join(";");
}

/** Plays texts in order, each in its seat. */
async function played(texts: Partial<Record<SeatName, string>>) {
  let state = await environment.start(task, contextWith());
  let last = null;
  for (const [seat, text] of Object.entries(texts)) {
    last = await environment.step(state, { [seat]: plainReply(text) }, contextWith());
    state = last.state;
  }
  return { state, last, outcome: environment.outcome(state) };
}

/** The executor's reward for a text, and the output that judges see. */
async function rewardFor(text: string) {
  const { last } = await played({ solver: plan, executor: text });
  return { ...last?.rewards["executor"], output: last?.evidence?.["executor"]?.output };
}

async function reasonFor(texts: Partial<Record<SeatName, string>>, seat: SeatName) {
  return (await played(texts)).last?.rewards[seat]?.reason;
}

function examples(given: object, seat: SeatName) {
  return Array.from({ length: 200 }, (_, seed) => {
    const [example] = create(given).oracle?.demonstrations?.(rootKey(seed), [seat]) ?? [];
    return { ...example, task: drawTask("train", childKey(rootKey(seed), "task")) };
  });
}

describe.runIf(works)("word-problems", async () => {
  const options = { turns: 1, services: { sandbox }, tasks: 8 };
  it.each(await conformanceChecks(wordProblems, options))("$name", ({ run }) =>
    expect(run()).resolves.toBeUndefined(),
  );
});

describe("a task", () => {
  it("has a text, intermediate amounts and an answer", () => {
    expect(described(task)).toBe(
      "ann has 7 coins . then ann finds 5 more . then ann keeps one of 3 equal parts . " +
        "then ann ends up with 2 times as many . how many ?",
    );
    expect(amounts(task)).toEqual([12, 4, 8]);
    expect(answer(task)).toBe(8);
    expect(environment.about?.(task)).toEqual({ problem: described(task), truth: "8" });
  });

  it("whose division leaves a remainder, or whose results are too small or large, is rejected", () => {
    expect(taskSchema.safeParse(task).success).toBe(true);
    const [finds, parts] = task.events as [Task["events"][number], Task["events"][number]];
    const spoilt = [
      [finds, { ...parts, by: 5 }],
      [finds, { phrase: "times", by: 5 }],
      [finds, { phrase: "loses", by: 9 }, { phrase: "loses", by: 3 }],
      [finds],
      [finds, { phrase: "dances", by: 3 }],
    ];
    for (const events of spoilt) expect(taskSchema.safeParse({ ...task, events }).success).toBe(false);
  });

  it("is in one split, with all others of the same calculation", () => {
    assert(
      property(integer(), constantFrom("train", "validation", "heldOut"), (seed, split) => {
        const drawn = drawTask(split, rootKey(seed));
        expect(taskSchema.parse(drawn)).toEqual(drawn);
        const other: Task = { ...drawn, name: "finn", thing: "pens" };
        expect([splitOf(drawn), splitOf(other)]).toEqual([split, split]);
        expect(calculationOf(other)).toBe(calculationOf(drawn));
      }),
    );
  });

  it("is in one split with every order of its steps, told apart from everything else that is calculated", () => {
    for (const same of [
      ["7 + 5 + 3", "3 + 5 + 7", "5 + 3 + 7"],
      ["9 - 2 + 4", "4 + 9 - 2", "9 + 4 - 2"],
      ["6 / 3 * 4", "6 * 4 / 3", "4 * 6 / 3"],
      ["7 + 5 * 3", "5 + 7 * 3"],
      ["4 * 3 - 5", "3 * 4 - 5"],
    ])
      expect(new Set(same.map(calculated)).size).toBe(1);
    const others = [
      "7 + 5 * 3",
      "7 * 3 + 5",
      "7 * 5 + 3",
      "9 - 2 + 4",
      "9 + 2 - 4",
      "6 / 3 * 4",
      "6 * 3 / 4",
    ];
    expect(new Set(others.map(calculated)).size).toBe(others.length);
  });

  it("of a split shares no calculation with other splits, in any order of what is added or multiplied", () => {
    const seen = new Map<string, GameSplit>();
    for (const split of ["train", "validation", "heldOut"] as const)
      for (let seed = 0; seed < 1000; seed++) {
        const sum = sorted(drawTask(split, rootKey(seed)));
        expect(seen.get(sum) ?? split).toBe(split);
        seen.set(sum, split);
      }
  });
});

describe("a plan", () => {
  it("is written and read", () => {
    expect(planOf(linesOf(task))).toBe(plan);
    expect(programOf(linesOf(task))).toBe(program);
    expect(linesIn(plan)).toEqual(linesOf(task));
    expect(linesIn(`${plan} checked checked`)).toEqual(linesOf(task));
    expect(valuesOf(linesOf(task))).toEqual([12, 4, 8]);
  });

  it("with other words, unknown variables or too many lines is none", () => {
    const spoilt = ["", "a = 7", "b = 7 + 5", "a = b + 5", "a = 7 + a", `${plan} ; d = c + 1`, "a = 7 ^ 5"];
    for (const text of spoilt) expect(linesIn(text)).toBeNull();
  });
});

describe.runIf(works)("an episode", () => {
  it("is solved if all seats do their work, whatever they claim", async () => {
    const { outcome, last, state } = await played({
      solver: `${plan} checked`,
      executor: `${program} # checked`,
      verifier: "answer 8 checked",
    });
    expect([outcome, last?.done, state.output]).toEqual([{ success: true, score: 1 }, true, "12 4 8"]);
    expect(last?.rewards).toEqual({ verifier: { team: 1, local: 1, parts: { format: 1 } } });
  });

  it("shows the executor the plan and the verifier all, in known words", async () => {
    const { state } = await played({ solver: `${plan} or so`, executor: "print ( -3 )" });
    expect(environment.observe(state, "executor")).toBe(`executor : plan ${plan} unknown unknown`);
    const seen = `verifier : ${described(task)} | plan ${plan} unknown unknown | output unknown`;
    expect(environment.observe(state, "verifier")).toBe(seen);
    expect(environment.observe({ ...state, plan: null }, "executor")).toBe("executor : plan nothing");
  });

  it("rewards the executor for its program's form and that it runs, and tells judges what it printed", async () => {
    expect(await rewardFor(program)).toMatchObject({ team: 0, local: 1, output: "12 4 8" });
    expect(await rewardFor("print ( 'a' )")).toMatchObject({ local: 0.5, output: "a" });
    const failed = { local: 0, reason: expect.stringContaining("NameError") as string };
    expect(await rewardFor("print ( z )")).toMatchObject(failed);
  });

  it("says who made the first mistake", async () => {
    expect(await reasonFor({ solver: "a = 7 + 5 ; b = a * 3" }, "solver")).toBe("the plan is wrong");
    expect(await reasonFor({ solver: "7 + 5" }, "solver")).toBe("this is not a plan");
    const undone = "it does not print the plan's result last";
    expect(await reasonFor({ solver: plan, executor: "print ( 12 , 4 )" }, "executor")).toBe(undone);
    expect(await reasonFor({ solver: "a = 7 * 5", executor: "print ( 35 )" }, "executor")).toBeUndefined();
  });

  it("is not solved by a wrong answer", async () => {
    const { outcome, last } = await played({ solver: plan, executor: program, verifier: "answer 12" });
    expect(outcome).toEqual({ success: false, score: 0 });
    expect(last?.rewards["verifier"]).toMatchObject({ team: 0, local: 1, reason: "12 is not the answer" });
  });
});

describe("demonstrations", () => {
  it("are right without mistakes", () => {
    const mistakes = { solver: 0, executor: 0, verifier: 0 };
    for (const { action, task: drawn } of examples({ mistakes, claims: 0 }, "verifier"))
      expect(action).toBe(`answer ${answer(drawn)}`);
    for (const { action, task: drawn } of examples({ mistakes, claims: 1 }, "executor"))
      expect(action).toBe(`${programOf(linesOf(drawn))} # checked`);
  });

  it("have about as many mistakes as asked for, and a wrong plan is carried out", () => {
    const mistakes = { solver: 0.5, executor: 0, verifier: 0 };
    const wrong = examples({ mistakes, claims: 0 }, "solver").filter(
      ({ action, task: drawn }) => action !== planOf(linesOf(drawn)),
    );
    expect(wrong.length).toBeGreaterThan(70);
    expect(wrong.length).toBeLessThan(130);
    for (const { observation, action } of examples({ mistakes, claims: 0 }, "executor")) {
      const lines = linesIn(observation?.replace("executor : plan ", "") ?? "");
      expect(action).toBe(programOf(lines ?? []));
    }
  });

  it("consist of known words", () => {
    const known = new Set(words);
    for (const seat of ["solver", "executor", "verifier"] as const) {
      const texts = examples({}, seat).flatMap(({ observation = "", action = "" }) => [observation, action]);
      expect(texts.flatMap((text) => text.split(" ")).filter((word) => !known.has(word))).toEqual([]);
    }
  });
});
