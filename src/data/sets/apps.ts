/** APPS: problems of programming sites; most read standard input, some call a function. */
import { z } from "zod";
import { parseExactJson } from "../exact-json.ts";
import type { Row } from "../formats/row.ts";
import { identifier, type CallCase, type CodeProblem, type CodeTests, type StdinCase } from "../problem.ts";
import { RowError, fieldsOf, jsonField, appsImports, type ProblemSet, type RowPlace } from "./problem-set.ts";

const schema = z.object({
  problem_id: z.int().optional(),
  /** Its name in the repository's files. */
  id: z.int().optional(),
  question: z.string(),
  solutions: z.string(),
  input_output: z.string(),
  difficulty: z.string().optional(),
  starter_code: z.string().nullish(),
});

const inputOutput = z.object({
  fn_name: identifier.nullish(),
  inputs: z.array(z.unknown()).min(1, "no tests"),
  outputs: z.array(z.unknown()),
});

/** For each test (`timeout` in testing_util.py of github.com/hendrycks/apps). */
const graderSeconds = 4;

function problem(row: Row, { split }: RowPlace): CodeProblem {
  const fields = fieldsOf(row, schema);
  const number = fields.problem_id ?? fields.id;
  if (number === undefined) throw new RowError("problem_id: expected a number");
  const tests = testsOf(fields.input_output);
  const starter = fields.starter_code?.trim() ?? "";
  return {
    // Both splits count from 0.
    id: `apps/${split}/${number}`,
    prompt: fields.question,
    entryPoint: tests.kind === "calls" ? tests.entryPoint : null,
    tests,
    solutions: fields.solutions === "" ? [] : jsonField("solutions", fields.solutions, listOfTexts),
    preamble: appsImports,
    limits: { seconds: graderSeconds },
    ...(starter !== "" && { starter }),
    ...(fields.difficulty !== undefined && { difficulty: fields.difficulty }),
  };
}

const listOfTexts = (text: string): string[] => z.array(z.string()).parse(JSON.parse(text));

function testsOf(text: string): CodeTests {
  if (text.trim() === "") throw new RowError("input_output: no tests");
  const value = jsonField("input_output", text, parseExactJson);
  const { fn_name: entryPoint, inputs, outputs } = fieldsOf({ input_output: value }, wrapped).input_output;
  if (inputs.length !== outputs.length)
    throw new RowError(`input_output: ${inputs.length} inputs, ${outputs.length} outputs`);
  const pairs = inputs.map((input, index) => [input, outputs[index]] as const);
  if (entryPoint) return { kind: "calls", entryPoint, cases: pairs.map(callCase) };
  return { kind: "stdin", cases: pairs.map(stdinCase) };
}

const wrapped = z.object({ input_output: inputOutput });

/** The set's own grader accepts either the output itself, or the first element of an output that is a list. */
function callCase([input, output]: readonly [unknown, unknown]): CallCase {
  if (!Array.isArray(input)) throw new RowError("input_output: the arguments of a call are not a list");
  const whole = JSON.stringify(output);
  const accepted = Array.isArray(output) && output.length > 0 ? [whole, JSON.stringify(output[0])] : [whole];
  return { arguments: JSON.stringify(input), accepted };
}

/** Texts, or lists of their lines. */
function stdinCase([input, output]: readonly [unknown, unknown]): StdinCase {
  return { input: linesOf(input), output: linesOf(output) };
}

function linesOf(value: unknown): string {
  const lines = Array.isArray(value) ? (value as unknown[]) : [value];
  if (lines.every((line) => typeof line === "string")) return lines.join("\n");
  throw new RowError("input_output: what is read or printed is not text");
}

export const apps: ProblemSet = {
  name: "apps",
  hub: "codeparrot/apps",
  title: "APPS: problems of programming sites",
  licence: "mit",
  source: "Hendrycks et al. 2021, arXiv 2105.09938; card of codeparrot/apps",
  fields: {
    problem_id: "0",
    question: "the problem",
    solutions: "JSON: programs",
    input_output: "JSON: inputs, outputs, and fn_name where a function is called",
    difficulty: "introductory, interview, competition",
    starter_code: "what a solution begins with",
  },
  configs: {
    default: {
      splits: {
        train: { rows: 5000, files: [["train.jsonl"]] },
        test: { rows: 5000, files: [["test.jsonl"]] },
      },
    },
  },
  version: 4,
  problem,
};
