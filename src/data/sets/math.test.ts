import { describe, expect, it } from "vitest";
import { mathProblemSchema, type MathProblem } from "../problem.ts";
import { aime, aime2024, dapoMath, gsm8k, math500, olympiadBench, polaris } from "./math.ts";
import type { ProblemSet } from "./problem-set.ts";

function problemOf(set: ProblemSet, row: object): MathProblem {
  return mathProblemSchema.parse(set.problem(row as Record<string, unknown>, { split: "train", row: 3 }));
}

function instructed(problem: string): object {
  const start =
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: $Answer (without quotes).";
  const end = 'Remember to put your answer on its own line after "Answer:".';
  return {
    prompt: [{ role: "user", content: `${start}\n\n${problem}\n\n${end}` }],
    reward_model: { ground_truth: "34", style: "rule" },
  };
}

describe("rows of the mathematics sets", () => {
  it.each([
    [
      gsm8k,
      { question: "How many?", answer: "3 + 4 = <<3+4=7>>7\n#### 1,007" },
      { id: "gsm8k/train/3", prompt: "How many?", answers: ["1,007"] },
    ],
    [
      math500,
      {
        problem: "Find $x$.",
        solution: "…",
        answer: "\\frac{1}{2}",
        subject: "Algebra",
        level: 2,
        unique_id: "test/algebra/1.json",
      },
      {
        id: "math-500/test/algebra/1.json",
        prompt: "Find $x$.",
        answers: ["\\frac{1}{2}"],
        subject: "Algebra",
        difficulty: "2",
      },
    ],
    [
      aime,
      { ID: "1983-1", Year: 1983, Question: "Find it.", Answer: "60" },
      { id: "aime-1983-2024/1983-1", prompt: "Find it.", answers: ["60"] },
    ],
    [
      aime,
      { ID: "2022-I-1", Question: "Find it.", Answer: "080 or 081 (both were accepted)" },
      { id: "aime-1983-2024/2022-I-1", prompt: "Find it.", answers: ["080", "081"] },
    ],
    [
      aime2024,
      { ID: "2024-II-4", Problem: "Find it.", Solution: "…", Answer: 33 },
      { id: "aime-2024/2024-II-4", prompt: "Find it.", answers: ["33"] },
    ],
    [
      polaris,
      { problem: "Find it.", answer: "12", difficulty: "3/8" },
      { id: "polaris/train/3", prompt: "Find it.", answers: ["12"], difficulty: "3/8" },
    ],
    [
      olympiadBench,
      {
        id: 1606,
        question: "Find all.",
        context: "Let $n$ be…",
        final_answer: ["$1$", "$2$"],
        subfield: "Algebra",
      },
      {
        id: "olympiad-bench/1606",
        prompt: "Let $n$ be…\n\nFind all.",
        answers: ["$1$, $2$"],
        subject: "Algebra",
      },
    ],
  ] as const)("$name", (set, row, problem) => {
    expect(problemOf(set, row)).toEqual(problem);
  });

  it("DAPO-Math: the problem without instructions, named by its text", () => {
    const problem = problemOf(dapoMath, instructed("Find it."));
    expect(problem).toMatchObject({ prompt: "Find it.", answers: ["34"] });
    expect(problemOf(dapoMath, instructed("Find it.")).id).toBe(problem.id);
    expect(problemOf(dapoMath, instructed("Find that.")).id).not.toBe(problem.id);
  });

  it.each([
    [gsm8k, { question: "How many?", answer: "7" }, /no line that begins with ####/],
    [aime, { ID: "1", Question: "Find it." }, /Answer/],
    [aime, { ID: "1", Question: " ", Answer: "1" }, /prompt/],
    [olympiadBench, { id: 1, question: "Find it.", final_answer: [] }, /final_answer/],
    [dapoMath, { prompt: [], reward_model: { ground_truth: "1" } }, /prompt/],
  ] as const)("$0.name: malformed rows", (set, row, problem) => {
    expect(() => problemOf(set, row)).toThrow(problem);
  });
});
