/** Runs the programs in what a seat wrote, and finds the answer in what they print. */
import { pythonBlocks } from "../../text/fences.ts";
import type { Context } from "../environment.ts";
import type { ProgramLimits } from "../programs/options.ts";
import { printedBy, programIn } from "../programs/run.ts";
import { extractAnswer } from "./answers/extract.ts";
import type { MathSeat } from "./forms/form.ts";
import type { Ran } from "./state.ts";

/** Further blocks of an action do not run. */
const mostBlocks = 4;

/**
 * One after the other, each on its own; together they may print as much as one.
 * @param text without thinking
 * @throws ServiceError if the sandbox fails; TroupeError `no_sandbox`, `cancelled`
 */
export async function runPrograms(
  writes: MathSeat["writes"],
  text: string,
  limits: ProgramLimits,
  context: Context,
): Promise<readonly Ran[]> {
  const sources = programsIn(writes, text);
  const each = { ...limits, characters: Math.floor(limits.characters / Math.max(1, sources.length)) };
  const ran: Ran[] = [];
  for (const source of sources) ran.push({ source, printed: await printedBy(source, "", each, context) });
  return ran;
}

function programsIn(writes: MathSeat["writes"], text: string): readonly string[] {
  if (writes === "blocks") return pythonBlocks(text).slice(0, mostBlocks);
  if (writes !== "program") return [];
  const { source } = programIn(text);
  return source === "" ? [] : [source];
}

/** The last line that a program printed, or what it marks as its answer. Null: it failed, or printed nothing. */
export function printedAnswer({ printed: { text, problem } }: Ran): string | null {
  if (problem !== null) return null;
  const marked = extractAnswer(text);
  if (marked !== null && marked.source !== "number") return marked.text;
  const line = text.trimEnd().split("\n").at(-1)?.trim() ?? "";
  // Powers as Python and SymPy print them.
  return line === "" ? null : line.replaceAll("**", "^");
}
