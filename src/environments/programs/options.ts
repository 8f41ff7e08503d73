/** Limits of the programs that a seat writes. */
import { z } from "zod";

/** @param characters what counts of the output, for the manual */
export function programLimits(defaults: Pick<ProgramLimits, "seconds" | "megabytes">, characters: string) {
  return z.strictObject({
    seconds: z
      .number()
      .min(0.1)
      .max(600)
      .default(defaults.seconds)
      .describe("Processor time of a program; its wall-clock limit is three times that, plus 5."),
    megabytes: z.int().min(32).max(16_384).default(defaults.megabytes).describe("Memory of a program."),
    characters: z.int().min(100).max(16_384).default(4000).describe(characters),
  });
}

/** The option `programs` of a game: a seat writes a program that prints a plan. */
export const programOptions = programLimits(
  { seconds: 10, megabytes: 256 },
  "Most characters of its output that are shown and rewarded; the last ones count.",
)
  .optional()
  .describe(
    "The first seat writes a Python program; the planner sees what it prints. Absent: it writes its proposal itself.",
  );

export interface ProgramLimits {
  readonly seconds: number;
  readonly megabytes: number;
  readonly characters: number;
}
