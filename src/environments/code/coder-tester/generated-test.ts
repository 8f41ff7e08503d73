/** The tester's test as data: it is parsed and rewritten, and never runs as code next to the real tests. */
import { z } from "zod";
import type { CodeProblem, CodeTests } from "../../../data/problem.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { TroupeError } from "../../../errors.ts";
import { longestText } from "../analysis/analyse.ts";
import { askScript } from "../../../sandbox/scripts.ts";
import { pythonProgram } from "../python.ts";
import type { GeneratedTest } from "./state.ts";

const reader = pythonProgram("analysis/extract.py", "coder-tester/read_test.py");

const assertion = z.strictObject({
  source: z.string(),
  call: z.strictObject({ arguments: z.string(), accepted: z.array(z.string()) }).nullable(),
});

/** Null: the text has no valid test. */
export async function generatedTest(
  sandbox: Sandbox,
  { entryPoint }: Pick<CodeProblem, "entryPoint">,
  text: string,
  signal?: AbortSignal,
): Promise<GeneratedTest | null> {
  const written = text.slice(0, longestText).toWellFormed();
  if (entryPoint === null) return inputAndOutput(written);
  if (!written.includes("assert")) return null;
  const answer = await askScript(sandbox, reader, JSON.stringify({ text: written, entryPoint }), signal);
  if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled while a test was read.");
  const found = assertion.safeParse(parsed(answer ?? "null"));
  return found.success ? { kind: "assertion", ...found.data } : null;
}

/** A line with only the label, then a fenced block. */
const labelled = (name: string): string =>
  String.raw`^[ \t*#]*(?:test[ \t]+)?${name}[ \t*:]*\n+[ \t]*` +
  "```" +
  String.raw`[^\n]*\n([^]*?)^[ \t]*` +
  "```";
const pair = new RegExp(`${labelled("input")}[^]*?${labelled("output")}`, "gim");

/** The last pair of fenced blocks below the words input and output: `**Test Input:**`, `**Test Output:**`. */
function inputAndOutput(text: string): GeneratedTest | null {
  const [, input, output] = [...text.matchAll(pair)].at(-1) ?? [];
  if (input === undefined || output === undefined || output.trim() === "") return null;
  return { kind: "run", input, output };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** In the form of the problem's tests, so that results are compared as in these: a tuple may count as a list. */
export function testsOf(test: GeneratedTest, { tests }: Pick<CodeProblem, "tests">): CodeTests {
  if (test.kind === "assertion" && test.call !== null && tests.kind === "calls")
    return { kind: "calls", entryPoint: tests.entryPoint, cases: [test.call] };
  if (test.kind === "assertion") return { kind: "asserts", setup: "", asserts: [test.source] };
  return { kind: "stdin", cases: [{ input: test.input, output: test.output }] };
}

/** In the form that seats see. */
export function showTest(test: GeneratedTest): string {
  if (test.kind === "assertion") return test.source;
  return `Input:\n${test.input.trimEnd()}\nOutput:\n${test.output.trimEnd()}`;
}
