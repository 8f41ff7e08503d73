/** MBPP: a sentence of text and three assertions; only the assertions name the function. */
import { z } from "zod";
import type { Row } from "../formats/row.ts";
import type { CodeProblem } from "../problem.ts";
import { RowError, fieldsOf, type ProblemSet, type ProblemSetConfig } from "./problem-set.ts";

const texts = z.array(z.string());
const schema = z.object({
  task_id: z.union([z.int(), z.string().min(1)]),
  /** Of `full`. */
  text: z.string().optional(),
  /** Of `sanitized`. */
  prompt: z.string().optional(),
  code: z.string(),
  test_list: texts.min(1),
  test_setup_code: z.string().nullish(),
  test_imports: texts.nullish(),
  challenge_test_list: texts.nullish(),
});

function problem(row: Row): CodeProblem {
  const fields = fieldsOf(row, schema);
  const setup = [...(fields.test_imports ?? []), fields.test_setup_code ?? ""].join("\n").trim();
  const shown = fields.test_list.map((line) => line.trim()).filter((line) => line !== "");
  if (shown.length === 0) throw new RowError("test_list: no assertions");
  const hidden = (fields.challenge_test_list ?? []).filter((line) => line.trim() !== "");
  return {
    id: `mbpp/${fields.task_id}`,
    prompt: fields.prompt ?? fields.text ?? "",
    entryPoint: entryPointOf(fields.code, shown),
    tests: { kind: "asserts", setup, asserts: [...shown, ...hidden] },
    // The set's authors show all three to whoever solves the problem (section 2.1 of the paper).
    shownTests: { kind: "asserts", setup, asserts: shown },
    solutions: [fields.code.replaceAll("\r\n", "\n")],
  };
}

/** The function that the solution defines and every assertion calls; of several, the last, which uses the others. */
function entryPointOf(code: string, asserts: readonly string[]): string {
  const defined = [...code.matchAll(/^(?:def|class)\s+(\w+)/gm)].map(([, name]) => name ?? "");
  const called = defined.filter((name) =>
    asserts.every((line) => new RegExp(String.raw`\b${name}\s*\(`).test(line)),
  );
  const last = called.at(-1);
  if (last === undefined) throw new RowError("code: defines nothing that every assertion calls");
  return last;
}

function splitsOf(config: string, rows: Readonly<Record<string, number>>): ProblemSetConfig["splits"] {
  const facts = Object.entries(rows).map(([split, count]) => [
    split,
    { rows: count, files: [[`${config}/${split}-00000-of-00001.parquet`]] },
  ]);
  return Object.fromEntries(facts) as ProblemSetConfig["splits"];
}

export const mbpp: ProblemSet = {
  name: "mbpp",
  hub: "google-research-datasets/mbpp",
  title: "MBPP: short functions from a sentence",
  licence: "cc-by-4.0",
  source: "Austin et al. 2021, arXiv 2108.07732; card of google-research-datasets/mbpp",
  fields: {
    task_id: "601",
    text: "the problem (full)",
    prompt: "the problem, revised (sanitized)",
    code: "a solution, which names the function",
    test_list: "assertions",
    test_setup_code: "run before them (full)",
    test_imports: "run before them (sanitized)",
    challenge_test_list: "further assertions (full)",
  },
  configs: {
    full: { splits: splitsOf("full", { train: 374, validation: 90, test: 500, prompt: 10 }) },
    sanitized: { splits: splitsOf("sanitized", { train: 120, validation: 43, test: 257, prompt: 7 }) },
  },
  version: 1,
  problem,
};
