/** Runs the program in what a model wrote. Whatever the program does is data. */
import { showLines } from "../../format.ts";
import { runModelProgram } from "../../sandbox/model-program.ts";
import { problemOf } from "../../sandbox/problem.ts";
import { hasBlock, wholeProgram } from "../../text/fences.ts";
import type { Context } from "../environment.ts";
import { sandboxOf } from "../sandbox-of.ts";
import type { ProgramLimits } from "./options.ts";

/** What a program printed. A type, not an interface: only types are assignable to Json. */
export type Printed = {
  /** Without control characters; the end of a longer output. */
  readonly text: string;
  /** Characters before `text` that are not kept. */
  readonly cut: number;
  /** Why the output should not be trusted: an error, a limit, no output. Null: nothing. */
  readonly problem: string | null;
};

export interface WrittenProgram {
  readonly source: string;
  /** It is in a block of Python. */
  readonly isFenced: boolean;
}

/** Only the beginning of a longer reply is read. */
const longestReply = 65_536;
const outputBytes = 65_536;

export function programIn(reply: string): WrittenProgram {
  const text = reply.slice(0, longestReply).toWellFormed();
  const source = wholeProgram(text);
  return { source: source.trim() === "" ? "" : source, isFenced: hasBlock(text, "python") };
}

/** @throws ServiceError if the sandbox fails; TroupeError `no_sandbox`, `cancelled` */
export async function printedBy(
  source: string,
  stdin: string,
  limits: ProgramLimits,
  context: Context,
): Promise<Printed> {
  if (source === "") return { text: "", cut: 0, problem: "there is no program" };
  const told = { ...limits, outputBytes };
  const result = await runModelProgram(sandboxOf(context), { source, stdin }, told, context.signal);
  const text = showLines(result.stdout).trim();
  const silent = text === "" ? "it printed nothing" : null;
  const problem = problemOf(result, told) ?? silent;
  const kept = text.slice(-limits.characters).toWellFormed();
  return { text: kept, cut: text.length - kept.length, problem };
}
