/** How rows become problems: as in a registered set, or by a recipe's mapping of fields. */
import { z } from "zod";
import { showText } from "../../format.ts";
import { compactJson, parseExactJson, stringifyBigInts } from "../exact-json.ts";
import type { Row } from "../formats/row.ts";
import {
  identifier,
  type MathProblem,
  type AnyProblem,
  type CallCase,
  type CodeProblem,
  type CodeTests,
  type StdinCase,
} from "../problem.ts";
import { codeBefore, jsonField, RowError, type ProblemSet, type RowPlace } from "./problem-set.ts";

export interface RowForm {
  /** Changes with the mapping of rows. */
  readonly identity: string;
  readonly columns?: readonly string[] | undefined;
  readonly dropsRepeats?: boolean | undefined;
  /** @throws RowError */
  problem(row: Row, at: RowPlace): AnyProblem;
}

export function formOfSet(set: ProblemSet): RowForm {
  return {
    identity: `${set.name} ${set.version}`,
    columns: set.columns,
    dropsRepeats: set.dropsRepeats,
    problem: (row, at) => set.problem(row, at),
  };
}

const field = z.string().min(1);

/** Maps fields; `tests.cases` is the field `cases` of the field `tests`. */
const mappingKeys = z.strictObject({
  id: field.optional().describe("default: the row's number"),
  prompt: field,
  entryPoint: field.optional(),
  tests: field.optional(),
  /** What the tests' field contains. */
  testKind: z.enum(["python-check", "asserts", "stdin", "calls"]).optional(),
  /** Of mathematics problems: a text or a number, or a list of answers that are all accepted. */
  answer: field.optional().describe("the final answer, instead of tests"),
  subject: field.optional(),
  setup: field.optional().describe("code that is run before asserts"),
  solution: field.optional().describe("a program, or the indented rest of the prompt's function; or a list"),
  preamble: field.optional(),
  starter: field.optional(),
  difficulty: field.optional(),
});
export type FieldMapping = z.infer<typeof mappingKeys>;

export const fieldMappingSchema = mappingKeys.superRefine((given, context) => {
  const missing = (path: "tests" | "testKind") =>
    context.addIssue({ code: "custom", path: [path], message: expected });
  const expected =
    "expected `tests` and `testKind` of programming problems, or `answer` of mathematics problems";
  if (given.answer !== undefined && given.tests !== undefined) missing("tests");
  if (given.answer !== undefined) return;
  if (given.tests === undefined) missing("tests");
  if (given.testKind === undefined) missing("testKind");
});

/** Increase it with every change of how mappings work. */
const mappingVersion = 4;

export function formOfFields(mapping: FieldMapping): RowForm {
  return {
    identity: `fields ${mappingVersion} ${JSON.stringify(mapping)}`,
    problem: (row, at) =>
      mapping.answer === undefined ? mappedProblem(row, at, mapping) : mappedMath(row, at, mapping),
  };
}

function mappedProblem(row: Row, at: RowPlace, mapping: FieldMapping): CodeProblem {
  const text = (name: keyof FieldMapping): string | undefined => optionalText(row, mapping[name]);
  const entryPoint = text("entryPoint") ?? null;
  const prompt = optionalText(row, mapping.prompt) ?? "";
  const written = mapping.solution === undefined ? [] : texts(row, mapping.solution);
  const solutions = written.filter((solution) => solution.trim() !== "");
  const begun = preambleIn(entryPoint, prompt, solutions);
  const preamble = text("preamble") ?? begun ?? undefined;
  const optional = { preamble, starter: text("starter"), difficulty: text("difficulty") };
  const present = Object.entries(optional).filter(([, value]) => value !== undefined && value !== "");
  return {
    id: mapping.id === undefined ? `${at.split}/${at.row}` : String(valueAt(row, mapping.id)),
    prompt,
    entryPoint,
    tests: testsIn(row, mapping, entryPoint),
    solutions: begun === null ? solutions : solutions.map((solution) => afterPrompt(prompt, solution)),
    ...Object.fromEntries(present),
  };
}

/** An indented beginning cannot start a program: it is the rest of the prompt's function, as in HumanEval. */
function continuesPrompt(solution: string): boolean {
  return /^(?:[ \t]*\n)*[ \t]+\S/.test(solution);
}

/** Null if the prompt is not code that defines the function. Without solutions that continue it, only its form tells. */
function preambleIn(entryPoint: string | null, prompt: string, solutions: readonly string[]): string | null {
  if (entryPoint === null || (solutions.length > 0 && !solutions.some(continuesPrompt))) return null;
  try {
    const preamble = codeBefore(entryPoint, prompt);
    return solutions.length > 0 || isCode(preamble) ? preamble : null;
  } catch {
    return null;
  }
}

/** Lines at the margin that a module may contain, and hardly a sentence of a task. */
const codeLine =
  /^(?:(?:import|from|async|def|class|if|try|except|else|finally)\b|[@#)\]}]|[\w.]+[ \t]*(?::[^=]*)?=)/;

function isCode(text: string): boolean {
  return text.split("\n").every((line) => /^\s|^$/.test(line) || codeLine.test(line));
}

function afterPrompt(prompt: string, solution: string): string {
  if (!continuesPrompt(solution)) return solution;
  return `${prompt}${prompt.endsWith("\n") ? "" : "\n"}${solution}`;
}

function mappedMath(row: Row, at: RowPlace, mapping: FieldMapping): MathProblem {
  const optional = {
    difficulty: optionalText(row, mapping.difficulty),
    subject: optionalText(row, mapping.subject),
  };
  const present = Object.entries(optional).filter(([, value]) => value !== undefined && value !== "");
  return {
    id: mapping.id === undefined ? `${at.split}/${at.row}` : String(valueAt(row, mapping.id)),
    prompt: optionalText(row, mapping.prompt) ?? "",
    answers: answersIn(valueAt(row, mapping.answer ?? ""), mapping.answer ?? ""),
    ...Object.fromEntries(present),
  };
}

/** A text or a number, or a list of them. @throws RowError */
function answersIn(value: unknown, name: string): string[] {
  const list = (Array.isArray(value) ? value : [value]) as unknown[];
  const found = list.filter(
    (each) => typeof each === "string" || typeof each === "number" || typeof each === "bigint",
  );
  if (found.length === 0 || found.length < list.length)
    throw new RowError(`${name}: expected an answer, or a list of answers`);
  return found.map(String);
}

function valueAt(row: Row, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name];
  let value: unknown = row;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      throw new RowError(`${name}: the row has no such field; ${fieldNames(row)}`);
    value = (value as Row)[step];
  }
  return value;
}

function fieldNames(row: Row): string {
  return showText(`its fields are ${Object.keys(row).join(", ")}`, 200);
}

function optionalText(row: Row, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const value = valueAt(row, name);
  if (value === null) return undefined;
  if (typeof value === "string") return value;
  throw new RowError(`${name}: expected a text`);
}

function texts(row: Row, name: string): string[] {
  const value = valueAt(row, name);
  const list = (Array.isArray(value) ? value : [value ?? []]).flat() as unknown[];
  if (list.every((each) => typeof each === "string")) return list;
  throw new RowError(`${name}: expected a text or a list of texts`);
}

function testsIn(row: Row, mapping: FieldMapping, entryPoint: string | null): CodeTests {
  // The schema requires both.
  const { tests: name = "", testKind: kind = "calls" } = mapping;
  if (kind !== "stdin" && !identifier.safeParse(entryPoint).success)
    throw new RowError(`${mapping.entryPoint ?? "entryPoint"}: expected the name of a function`);
  if (kind === "python-check") return { kind, source: texts(row, name).join("\n") };
  if (kind === "asserts")
    return { kind, setup: optionalText(row, mapping.setup) ?? "", asserts: assertsIn(row, name) };
  const cases = jsonField(name, stringifyBigInts(parsed(row, name)), (text) =>
    pairsSchema.parse(parseExactJson(text)),
  );
  if (kind === "stdin") return { kind, cases: cases.map(stdinCase) };
  return { kind, entryPoint: entryPoint ?? "", cases: cases.map(callCase) };
}

/** A text with one statement per line. */
function assertsIn(row: Row, name: string): string[] {
  const value = valueAt(row, name);
  const lines = typeof value === "string" ? value.split("\n") : texts(row, name);
  return lines.filter((line) => line.trim() !== "");
}

/** A text field is parsed as JSON. */
function parsed(row: Row, name: string): unknown {
  const value = valueAt(row, name);
  return typeof value === "string" ? jsonField(name, value, parseExactJson) : value;
}

const pair = z.object({ input: z.unknown(), output: z.unknown() });
const columns = z.union([
  z.object({ inputs: z.array(z.unknown()), outputs: z.array(z.unknown()) }),
  z.object({ input: z.array(z.unknown()), output: z.array(z.unknown()) }).transform((value) => ({
    inputs: value.input,
    outputs: value.output,
  })),
]);
/** `[{ input, output }, …]`, or `{ inputs: […], outputs: […] }`. */
const pairsSchema = z.union([
  z.array(pair),
  columns.transform(({ inputs, outputs }) => {
    if (inputs.length !== outputs.length)
      throw new RowError(`tests: ${inputs.length} inputs, ${outputs.length} outputs`);
    return inputs.map((input, index) => ({ input, output: outputs[index] }));
  }),
]);
type Pair = z.infer<typeof pair>;

function stdinCase({ input, output }: Pair): StdinCase {
  if (typeof input === "string" && typeof output === "string") return { input, output };
  throw new RowError("tests: what is read or printed is not text");
}

function callCase({ input, output }: Pair): CallCase {
  if (!Array.isArray(input)) throw new RowError("tests: the arguments of a call are not a list");
  return {
    arguments: compactJson(JSON.stringify(input)),
    accepted: [compactJson(JSON.stringify(output ?? null))],
  };
}
