/** The option `programs` of a game: a seat writes a program that prints a plan. */
import { z } from "zod";

export const programOptions = z
  .strictObject({
    seconds: z
      .number()
      .min(0.1)
      .max(600)
      .default(10)
      .describe("Processor time of a program; its wall-clock limit is three times that, plus 5."),
    megabytes: z.int().min(32).max(16_384).default(256).describe("Memory of a program."),
    characters: z
      .int()
      .min(100)
      .max(16_384)
      .default(4000)
      .describe("Most characters of its output that are shown and rewarded; the last ones count."),
  })
  .optional()
  .describe(
    "The first seat writes a Python program; the planner sees what it prints. Absent: it writes its proposal itself.",
  );

export type ProgramLimits = NonNullable<z.output<typeof programOptions>>;
