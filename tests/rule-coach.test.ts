/** The coach without a model that trains `word-problems` in the experiment `coach`. */
import { describe, expect, it } from "vitest";
import { meanSuccess, tokensTo } from "../bench/coach/efficiency.ts";
import { scoreOf, uniforms, type Mode } from "../bench/coach/opinion.ts";
import { workIn } from "../bench/coach/question.ts";
import { atFault, quality, type Work } from "../bench/coach/rules.ts";
import { answerTo } from "../bench/coach/server.ts";
import { promptFor } from "../src/judges/coach/prompt.ts";

const problem = "ann has 7 coins . then ann finds 5 more . then ann keeps one of 3 equal parts . how many ?";
const plan = "a = 7 + 5 ; b = a / 3";
const noOutput = { output: "" };

function solver(text: string): Work {
  return { role: "solver", problem, observation: `solver : ${problem}`, text, ...noOutput };
}

function executor(output: string, from = plan): Work {
  return { role: "executor", problem, observation: `executor : plan ${from}`, text: "print ( )", output };
}

function verifier(text: string, output = "12 4", from = plan): Work {
  const observation = `verifier : ${problem} | plan ${from} | output ${output}`;
  return { role: "verifier", problem, observation, text, ...noOutput };
}

const times = Array.from({ length: 400 }, (_, index) => index);

function mean(mode: Mode, make: (index: number) => Work): number {
  return times.reduce((sum, index) => sum + scoreOf(mode, make(index)), 0) / times.length;
}

// What the solver saw matters to the noise only.
const good = (index: number): Work => ({ ...solver(plan), observation: `solver : ${index}` });
const bad = (index: number): Work => ({ ...good(index), text: "a = 7 - 5 ; b = a * 3" });
const bold = (index: number): Work => ({ ...good(index), text: `${bad(index).text} checked` });
const long = (index: number): Work => ({
  ...good(index),
  text: `${bad(index).text}${" checked".repeat(20)}`,
});

/** As the judge `coach` asks. */
function asked(work: Work) {
  const { role, problem: told, observation, text, output } = work;
  const act = { role, turn: 0, text, isCutOff: false, ...(output === "" ? {} : { output }) };
  const asking = {
    members: ["solver", "executor", "verifier"].map((name) => ({ name, purpose: "Works." })),
    phases: [["solver"], ["executor"], ["verifier"]],
    turns: 1,
    task: { problem: told },
    role,
    turn: 0,
    instructions: "",
    observation,
    earlier: [{ ...act, text: "earlier", output: "earlier" }],
    acts: [
      {
        ...act,
        together: [],
        later: [{ ...act, text: "later", output: "later" }],
        outcomes: [{ success: false, score: 0 }],
      },
    ],
  };
  return promptFor(asking, {}).messages;
}

function body(work: Work, model = "fair"): string {
  return JSON.stringify({ model, messages: asked(work) });
}

describe("the rules", () => {
  it("score a plan by the operations that it gets right", () => {
    expect(quality(solver(plan))).toBe(1);
    expect(quality(solver(`${plan} checked`))).toBe(1);
    expect(quality(solver("a = 7 - 5 ; b = a / 3"))).toBe(0.25);
    expect(quality(solver("a = 7 - 5 ; b = a * 3"))).toBe(0);
    for (const text of [
      "",
      "a = 7 + 5",
      "a = 8 + 5 ; b = a / 3",
      `${plan} ; c = b + 5`,
      "a = 7 + 5 ; b = 7 / 3",
    ])
      expect(quality(solver(text))).toBe(0);
  });

  it("score a program by what it printed for the plan, right or wrong", () => {
    expect(quality(executor("12 4"))).toBe(1);
    expect(quality(executor("2 6", "a = 7 - 5 ; b = a * 3"))).toBe(1);
    expect(quality(executor("12"))).toBe(0.3);
    expect(quality(executor("12 36"))).toBe(0.2);
    expect(quality(executor("it ended with exit code 1: NameError"))).toBe(0);
    expect(quality(executor("12 4", "nonsense"))).toBe(0.5);
  });

  it("score an answer by what the program printed last", () => {
    expect(quality(verifier("answer 4"))).toBe(1);
    expect(quality(verifier("answer 4 checked"))).toBe(1);
    expect(quality(verifier("answer 12"))).toBe(0.2);
    expect(quality(verifier("answer 7"))).toBe(0);
    expect(quality(verifier("4"))).toBe(0);
    expect(quality(verifier("answer 4", "error"))).toBe(0.3);
  });

  it("blame the first mistake", () => {
    expect(atFault(solver(plan))).toBe("none");
    expect(atFault(solver("a = 7 - 5 ; b = a / 3"))).toBe("solver");
    expect(atFault(executor("12 36"))).toBe("executor");
    expect(atFault(verifier("answer 4", "2 6", "a = 7 - 5 ; b = a * 3"))).toBe("solver");
    expect(atFault(verifier("answer 36", "12 36"))).toBe("executor");
    expect(atFault(verifier("answer 12"))).toBe("verifier");
    expect(atFault(verifier("answer 4"))).toBe("none");
  });
});

describe("an opinion", () => {
  it("of a fair coach tells good from bad work, with noise, and ignores claims and length", () => {
    expect(mean("fair", good)).toBeGreaterThan(9);
    for (const make of [bad, bold, long]) expect(mean("fair", make)).toBeLessThan(1);
    expect(new Set(times.map((index) => scoreOf("fair", good(index)))).size).toBeGreaterThan(3);
    expect(scoreOf("fair", good(1))).toBe(scoreOf("fair", good(1)));
  });

  it("of a biased coach depends on length, of a gamed one on a claim", () => {
    expect(mean("biased", long) - mean("biased", bad)).toBeGreaterThan(2);
    expect(mean("gamed", bold)).toBeGreaterThan(9);
    expect(mean("gamed", bold)).toBeGreaterThan(mean("gamed", good));
  });
});

describe("the endpoint", () => {
  it.each([solver(plan), executor("12 4"), verifier("answer 4 checked")])(
    "finds the work of the $role in the coach's prompt",
    (work) => {
      expect(workIn(asked(work).at(-1)?.content ?? "")).toEqual(work);
    },
  );

  it("answers with a verdict, and fails for a tenth of the requests in three ways", () => {
    const answers = Array.from({ length: 1000 }, (_, index) =>
      answerTo(body({ ...solver(plan), problem: problem.replace("7", `${index}`) })),
    );
    const verdicts = answers.flatMap(({ status, type, body: text }) => {
      if (status !== 200 || type === "text/html") return [];
      const { choices } = JSON.parse(text) as { choices: [{ message: { content: string } }] };
      return /^\{"reason":"[^"]+","blame":"[a-z]+","score":\d+\}$/.exec(choices[0].message.content) ?? [];
    });
    expect(verdicts.length).toBeGreaterThan(850);
    expect(verdicts.length).toBeLessThan(950);
    expect(new Set(answers.map(({ status, type }) => `${status} ${type}`))).toEqual(
      new Set(["200 application/json", "200 text/html", "500 application/json"]),
    );
  });

  it("answers a question that failed once when it is asked again", () => {
    const failed = Array.from({ length: 200 }, (_, index) => body(solver(`${plan} ; ${index}`))).filter(
      (one) => answerTo(one).status === 500,
    );
    expect(failed.length).toBeGreaterThan(0);
    const again = failed.map((one) => [1, 2, 3, 4].map(() => answerTo(one).status));
    for (const statuses of again) expect(statuses).toContain(200);
  });

  it("rejects other models, other prompts and what is no request", () => {
    expect(answerTo(body(solver(plan), "gpt")).status).toBe(404);
    const other = { model: "fair", messages: [{ role: "user", content: "hello" }] };
    for (const text of ["", "{}", JSON.stringify(other)]) expect(answerTo(text).status).toBe(400);
  });
});

it("numbers by hash are between 0 and 1", () => {
  for (let index = 0; index < 100; index++)
    for (const number of uniforms(`${index}`)) {
      expect(number).toBeGreaterThan(0);
      expect(number).toBeLessThan(1);
    }
});

describe("a learning curve", () => {
  const curve = [
    { sampledTokens: 0, success: 0.1 },
    { sampledTokens: 100, success: 0.5 },
    { sampledTokens: 400, success: 0.7 },
  ];

  it("has an area in proportion to its tokens", () => {
    // (100 · 0.3 + 300 · 0.6) / 400
    expect(meanSuccess(curve)).toBeCloseTo(0.525, 12);
  });

  it("reaches a success between two evaluations, at once, or never", () => {
    expect(tokensTo(0.3, curve)).toBeCloseTo(50, 9);
    expect(tokensTo(0.6, curve)).toBeCloseTo(250, 9);
    expect(tokensTo(0.05, curve)).toBe(0);
    expect(tokensTo(0.8, curve)).toBeNull();
  });
});
