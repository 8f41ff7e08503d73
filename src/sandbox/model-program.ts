/** Runs a model's program within limits; `problem.ts` has the messages for exceeding them. */
import { TroupeError } from "../errors.ts";
import type { ToldLimits } from "./problem.ts";
import type { Limits, Program, ProgramResult, Sandbox } from "./sandbox.ts";

export type ModelProgram = Omit<Program, "language" | "limits">;

/**
 * @param more limits besides; wall-clock time is 3 · `seconds` + 5 unless they say otherwise, because other programs
 * share the processors: the processor time is what counts
 * @throws ServiceError if the sandbox fails; TroupeError `no_sandbox`, `cancelled`
 */
export async function runModelProgram(
  sandbox: Sandbox,
  program: ModelProgram,
  { seconds, megabytes, outputBytes }: ToldLimits,
  signal: AbortSignal,
  more: Partial<Limits> = {},
): Promise<ProgramResult> {
  const limits = {
    cpuSeconds: seconds,
    wallSeconds: 3 * seconds + 5,
    memoryBytes: megabytes * 2 ** 20,
    outputBytes,
    ...more,
  };
  const result = await sandbox.run({ language: "python", ...program, limits }, signal);
  if (result.ended === "cancelled")
    throw new TroupeError("cancelled", "Cancelled while a model's program ran.");
  return result;
}
