/** Analyses what a team wrote with Python's own parser, inside the sandbox and without executing it. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { recordedCall } from "../../../calls/recorded.ts";
import type { Context } from "../../environment.ts";
import { pythonProgram } from "../python.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import { askScript } from "../../../sandbox/scripts.ts";
import { jsonOrNull } from "../../../json.ts";

const problem = z.object({ message: z.string(), line: z.number(), column: z.number() });

const part = z.object({
  defined: z.boolean(),
  returns: z.boolean(),
  error: problem.nullable(),
  source: z.string(),
});

const analysisSchema = z.object({
  main: part,
  helper: part.nullable(),
  program: z.string(),
  preamble: z.string(),
  use: z.object({ called: z.boolean(), used: z.boolean(), wrapper: z.boolean() }).nullable(),
});

export interface Analysis {
  readonly main: Part;
  /** Null for a single agent. */
  readonly helper: Part | null;
  /** The prompt's preamble and both parts: the program to run. */
  readonly program: string;
  /** Imports and helpers of the prompt. */
  readonly preamble: string;
  /** How the main function uses the helper; null for a single agent. */
  readonly use: HelperUse | null;
}

/** The contribution of one text. */
export type Part = {
  /** It has a function with the requested name, whether or not it parses. */
  readonly defined: boolean;
  /** That function returns something. */
  readonly returns: boolean;
  /** Why that function does not parse; null: it does, or it is missing. */
  readonly error: SyntaxProblem | null;
  /** The definitions, imports and globals that were kept. */
  readonly source: string;
};

export type SyntaxProblem = {
  readonly message: string;
  /** From 1, in the function's own text. */
  readonly line: number;
  readonly column: number;
};

export type HelperUse = {
  /** A reachable call, or the helper is passed to another function. */
  readonly called: boolean;
  /** The result of at least one call is used. */
  readonly used: boolean;
  /** The main function only returns the helper's result. */
  readonly wrapper: boolean;
};

export interface AnalysedText {
  /** The problem's prompt, whose imports and helpers the program may rely on. */
  readonly prompt: string;
  /** Null: the text is a whole program, which reads standard input and prints. */
  readonly entryPoint: string | null;
  readonly main: string;
  /** Absent: a single agent writes everything. */
  readonly helper?: { readonly name: string; readonly text: string };
}

const program = pythonProgram("analysis/extract.py", "analysis/flow.py", "analysis/analyse.py");

/** Longer texts are truncated: no function is that long, and parsing time grows with length. */
export const longestText = 20_000;

/** What an analysis uses of an environment's context. */
export type AnalysisContext = Partial<Pick<Context, "signal" | "services">>;

/**
 * A text that Python's parser cannot handle defines nothing. Each text is analysed once in a run: answers are recorded.
 * @throws ServiceError if the sandbox or the analysis itself fails, TroupeError `cancelled`
 */
export async function analyse(
  sandbox: Sandbox,
  written: AnalysedText,
  { signal, services }: AnalysisContext = {},
): Promise<Analysis> {
  const { prompt, entryPoint, main, helper } = written;
  const texts = { main: cut(main), ...(helper === undefined ? {} : { helper: cut(helper.text) }) };
  const nothingFound = nothingWritten(helper !== undefined);
  const isCode = entryPoint === null ? /\S/ : /\b(?:def|lambda)\b/;
  if (!Object.values(texts).some((text) => isCode.test(text))) return nothingFound;
  const request = JSON.stringify({ prompt, entryPoint, helper: helper?.name ?? null, texts });
  const key = createHash("sha256").update(program).update(request).digest("hex").slice(0, 32);
  const askParser = async (): Promise<Analysis> => {
    const answer = await askScript(sandbox, program, request, signal);
    if (signal?.aborted === true)
      throw new TroupeError("cancelled", "Cancelled while a program was analysed.");
    return (answer === null ? null : analysisIn(answer)) ?? nothingFound;
  };
  return recordedCall(services?.recorded, { key, read: readAnalysis, ask: askParser }, signal);
}

function cut(text: string): string {
  return text.slice(0, longestText).toWellFormed();
}

/** Null: the text cannot be analysed. @throws ServiceError if it is none */
function analysisIn(line: string): Analysis | null {
  if (line === "null") return null;
  const found = readAnalysis(jsonOrNull(line));
  if (found === null) throw new ServiceError("The analysis of a program has an unknown form.");
  return found;
}

function readAnalysis(value: unknown): Analysis | null {
  return analysisSchema.safeParse(value).data ?? null;
}

const nothing: Part = { defined: false, returns: false, error: null, source: "" };

function nothingWritten(hasHelper: boolean): Analysis {
  const use = { called: false, used: false, wrapper: false };
  return {
    main: nothing,
    helper: hasHelper ? nothing : null,
    program: "",
    preamble: "",
    use: hasHelper ? use : null,
  };
}
