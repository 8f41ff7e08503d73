/** Why a program's output should not be trusted, in words for a model. */
import { showText } from "../format.ts";
import type { ProgramResult } from "./sandbox.ts";

export interface ToldLimits {
  readonly seconds: number;
  readonly megabytes: number;
  readonly outputBytes: number;
  /** Absent: the model is not told. */
  readonly diskMegabytes?: number;
}

const longestError = 200;

/** Null: it ended by itself, with exit code 0. */
export function problemOf(
  { ended, exitCode, signal, stderr }: ProgramResult,
  limits: ToldLimits,
): string | null {
  if (ended === "signalled") return `it was ended by ${signal}`;
  if (ended !== "exited") return exceeded(ended, limits);
  return exitCode === 0 ? null : `it ended with exit code ${exitCode}${errorIn(stderr)}`;
}

function exceeded(limit: string, { seconds, megabytes, outputBytes, diskMegabytes }: ToldLimits): string {
  const limits: Readonly<Record<string, string>> = {
    "cpu-time": `it took more than ${seconds} seconds`,
    "wall-time": "it did not end in time",
    memory: `it needed more than ${megabytes} MB of memory`,
    output: `it printed more than ${outputBytes} bytes`,
    disk:
      diskMegabytes === undefined
        ? "it wrote more to its disk than it may"
        : `it wrote more than ${diskMegabytes} MB, or too many files`,
  };
  return limits[limit] ?? `it was ended: ${limit}`;
}

/** The last line of a traceback says what happened. */
function errorIn(stderr: string): string {
  const line = showText(stderr.trimEnd().split("\n").at(-1) ?? "", longestError);
  return line === "" ? "" : `: ${line}`;
}
