import { inflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { assert, integer, property, uint8Array } from "fast-check";
import { mathProblemSchema, type MathProblem } from "../problem.ts";
import { aime, aime2024, dapoMath, gsm8k, math500, olympiadBench, polaris } from "./math.ts";
import { type ProblemSet, RowError } from "./problem-set.ts";
import { readPickledText } from "./pickled-text.ts";

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

const hex = (text: string) => Buffer.from(text, "hex");
const packed = (text: string) => inflateSync(Buffer.from(text, "base64"));

// All from CPython 3.11, `pickle.dumps(value, protocol=…)`.
describe("a pickled string", () => {
  it.each([
    ["protocol 2", "8002580400000068c3a90a71002e"],
    ["protocol 3", "8003580400000068c3a90a71002e"],
    ["protocol 4", "80049508000000000000008c0468c3a90a942e"],
    ["protocol 5", "80059508000000000000008c0468c3a90a942e"],
  ])("in %s is read", (_, bytes) => {
    expect(readPickledText(hex(bytes))).toBe("hé\n");
  });

  it.each([
    [
      "protocol 2",
      "eNrtwkERACAIADA0EG+j+NUGNiA6Aayw22ruWiPOBQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACA34tsxY0N7A==",
    ],
    [
      "protocol 4",
      "eNrtwjENACAMADBI0LMbKbxMyURMMAKw0LS1Tu05bgIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAwK/jASlSDhE=",
    ],
  ])("in %s, longer than a frame, is read", (_, bytes) => {
    expect(readPickledText(packed(bytes))).toBe("ab".repeat(40_000));
  });
});

describe("anything else is rejected", () => {
  it.each([
    [
      "a call of os.system",
      "8004952b000000000000008c05706f736978948c0673797374656d9493948c10746f756368202f746d702f6f776e656494859452942e",
    ],
    [
      "a call in a list",
      "80025d710028580100000078710163706f7369780a73797374656d0a71025810000000746f756368202f746d702f6f776e65647103857104527105652e",
    ],
    ["a list", "80049508000000000000005d948c017894612e"],
    ["bytes", "8004950500000000000000430178942e"],
    ["a number", "80044b052e"],
    ["protocol 0", "56780a70300a2e"],
    ["protocol 1", "58010000007871002e"],
    ["a lone surrogate", "80049507000000000000008c03eda080942e"],
    ["something after the end", "80049508000000000000008c0468c3a90a942e2e"],
    ["two strings", "8004952b000000000000008c0178948c0179942e"],
    ["nothing", ""],
  ])("%s", (_, bytes) => {
    expect(() => readPickledText(hex(bytes))).toThrow(RowError);
  });

  it("a length beyond the end, of any size", () => {
    for (const bytes of ["80045805000000616263642e", "80048dffffffffffffffff612e", "80048c", "8004"])
      expect(() => readPickledText(hex(bytes))).toThrow("pickle: it breaks off");
  });

  it("any bytes give a string or RowError", () => {
    const start = hex("8004");
    assert(
      property(uint8Array({ maxLength: 60 }), integer({ min: 0, max: 1 }), (bytes, withStart) => {
        const input = Buffer.concat([withStart === 1 ? start : Buffer.alloc(0), bytes]);
        const read = (): string => {
          try {
            return typeof readPickledText(input);
          } catch (error) {
            return error instanceof RowError ? "string" : String(error);
          }
        };
        expect(read()).toBe("string");
      }),
      { numRuns: 2000 },
    );
  });
});
