/** HumanEval and sets of the same form: the prompt is code, the tests a function `check(candidate)`. */
import { z } from "zod";
import type { Row } from "../formats/row.ts";
import { identifier, type CodeProblem } from "../problem.ts";
import { RowError, codeBefore, fieldsOf, type ProblemSet } from "./problem-set.ts";

const schema = z.object({
  task_id: z.string().min(1),
  prompt: z.string(),
  entry_point: identifier,
  test: z.string(),
  canonical_solution: z.string().nullish(),
});

/** The canonical solution is the continuation of the prompt's code. */
function checkedProblem(row: Row): CodeProblem {
  const fields = fieldsOf(row, schema);
  const { prompt, entry_point: entryPoint, test, canonical_solution: rest } = fields;
  if (!/^\s*def\s+check\s*\(/m.test(test)) throw new RowError("test: no definition of check(candidate)");
  if (!/\b(assert|raise)\b/.test(test)) throw new RowError("test: check(candidate) asserts nothing");
  const preamble = codeBefore(entryPoint, prompt);
  return {
    id: fields.task_id,
    prompt,
    entryPoint,
    tests: { kind: "python-check", source: test },
    solutions: rest ? [prompt + rest] : [],
    ...(preamble !== "" && { preamble }),
    starter: prompt,
  };
}

const fields = {
  task_id: "HumanEval/0",
  prompt: "imports, signature and docstring; examples are in the docstring",
  entry_point: "the function's name",
  test: "Python that defines check(candidate)",
};

export const humanEval: ProblemSet = {
  name: "humaneval",
  hub: "openai/openai_humaneval",
  title: "HumanEval: functions to complete",
  licence: "mit",
  source: "Chen et al. 2021, arXiv 2107.03374; card of openai/openai_humaneval",
  fields: { ...fields, canonical_solution: "the rest of the function" },
  configs: {
    openai_humaneval: {
      splits: { test: { rows: 164, files: [["openai_humaneval/test-00000-of-00001.parquet"]] } },
    },
  },
  version: 1,
  problem: checkedProblem,
};

export const coopHumanEval: ProblemSet = {
  name: "coophumaneval",
  hub: "OpenMLRL/CoopHumanEval",
  title: "CoopHumanEval: functions that two programmers can share",
  licence: "apache-2.0",
  source: "Liu et al. 2025, arXiv 2508.04652; card of OpenMLRL/CoopHumanEval",
  fields,
  configs: { default: { splits: { test: { rows: 82 } } } },
  version: 1,
  problem: checkedProblem,
};
