/** LiveCodeBench: problems of contests by date. Its hidden tests are base64 of zlib of a pickle of JSON. */
import { inflateSync } from "node:zlib";
import { z } from "zod";
import { compactJson } from "../exact-json.ts";
import type { Row } from "../formats/row.ts";
import { identifier, type CallCase, type CodeProblem, type CodeTests } from "../problem.ts";
import { readPickledText } from "./pickled-text.ts";
import {
  RowError,
  fieldsOf,
  jsonField,
  liveCodeBenchImports,
  type ProblemSet,
  type ProblemSetConfig,
} from "./problem-set.ts";

const schema = z.object({
  question_id: z.string().min(1),
  question_content: z.string(),
  starter_code: z.string().nullish(),
  difficulty: z.string().optional(),
  public_test_cases: z.string(),
  private_test_cases: z.string(),
  metadata: z.string(),
});

const testCases = z.array(
  z.object({ input: z.string(), output: z.string(), testtype: z.enum(["stdin", "functional"]) }),
);
type TestCase = z.infer<typeof testCases>[number];
const metadataSchema = z.object({ func_name: identifier.nullish() });

/** Tests of one problem that unpack to more than this count as an attack. */
const largestTests = 400 * 1024 * 1024;

/** For each test (the default of `--timeout` in github.com/LiveCodeBench/LiveCodeBench). */
const graderSeconds = 6;

function problem(row: Row): CodeProblem {
  const fields = fieldsOf(row, schema);
  const { func_name: name } = jsonField("metadata", fields.metadata, (text) =>
    fieldsOf(JSON.parse(text) as Row, metadataSchema),
  );
  const shown = jsonField("public_test_cases", fields.public_test_cases, casesOf);
  const hidden = jsonField("private_test_cases", fields.private_test_cases, hiddenCases);
  const tests = testsOf([...shown, ...hidden], name ?? null);
  const starter = fields.starter_code ?? "";
  return {
    id: fields.question_id,
    prompt: fields.question_content,
    entryPoint: tests.kind === "calls" ? tests.entryPoint : null,
    tests,
    ...(shown.length > 0 && { shownTests: testsOf(shown, name ?? null) }),
    solutions: [],
    preamble: liveCodeBenchImports,
    limits: { seconds: graderSeconds },
    comparison: "exact",
    ...(starter.trim() !== "" && { starter }),
    ...(fields.difficulty !== undefined && { difficulty: fields.difficulty }),
  };
}

function casesOf(text: string): TestCase[] {
  const result = testCases.safeParse(JSON.parse(text));
  if (result.success) return result.data;
  throw new RowError("tests: expected a list of inputs, outputs and kinds");
}

/** Older rows contain plain JSON. */
function hiddenCases(text: string): TestCase[] {
  if (text.startsWith("[")) return casesOf(text);
  const packed = Buffer.from(text, "base64");
  return casesOf(readPickledText(inflateSync(packed, { maxOutputLength: largestTests })));
}

function testsOf(cases: readonly TestCase[], entryPoint: string | null): CodeTests {
  const [first] = cases;
  if (first === undefined) throw new RowError("public_test_cases, private_test_cases: no tests");
  if (cases.some(({ testtype }) => testtype !== first.testtype))
    throw new RowError("tests: standard input and calls are mixed");
  if (first.testtype === "stdin")
    return { kind: "stdin", cases: cases.map(({ input, output }) => ({ input, output })) };
  if (entryPoint === null) throw new RowError("metadata: no func_name for tests that call a function");
  return { kind: "calls", entryPoint, cases: cases.map(callCase) };
}

/** One argument per line. */
function callCase({ input, output }: TestCase): CallCase {
  const given = input === "" ? [] : input.split("\n").map((line) => jsonField("input", line, compactJson));
  return { arguments: `[${given.join(",")}]`, accepted: [jsonField("output", output, compactJson)] };
}

/** Each release adds a file to the earlier ones. */
const releases = [400, 511, 612, 713, 880, 1055];
const files = ["test.jsonl", "test2.jsonl", "test3.jsonl", "test4.jsonl", "test5.jsonl", "test6.jsonl"];

function release(index: number): [string, ProblemSetConfig] {
  const test = { rows: releases[index] ?? 0, files: [files.slice(0, index + 1)] };
  return [`release_v${index + 1}`, { splits: { test } }];
}

export const liveCodeBench: ProblemSet = {
  name: "livecodebench",
  hub: "livecodebench/code_generation_lite",
  title: "LiveCodeBench: problems of contests by date",
  licence: "cc",
  source: "Jain et al. 2024, arXiv 2403.07974; card and loader of livecodebench/code_generation_lite",
  fields: {
    question_id: "1873_A",
    question_content: "the problem",
    public_test_cases: "JSON: the examples of the problem's text",
    private_test_cases: "hidden tests: base64 of zlib of a pickle of JSON",
    metadata: "JSON: func_name where a function is called",
    starter_code: "what a solution begins with",
    difficulty: "easy, medium, hard",
  },
  // The newest first: it is the default.
  configs: Object.fromEntries(releases.map((_, index) => release(index)).toReversed()),
  version: 4,
  problem,
};
