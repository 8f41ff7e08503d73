import { z } from "zod";
import { judgeUse } from "../options.ts";

export const commandOptions = z.strictObject({
  run: z
    .tuple([z.string().min(1)], z.string())
    .describe(
      "The program and its arguments. It runs in the folder of the file that says so, and paths are seen from there.",
    ),
  directory: z
    .string()
    .min(1)
    .optional()
    .describe("Another working directory, seen from the file that says so."),
  env: z
    .array(z.string().regex(/^[A-Za-z_]\w*$/, "the name of an environment variable"))
    .default([])
    .describe(
      "Environment variables passed on, by name, besides PATH, HOME and those of the language and the clock.",
    ),
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .default(60)
    .describe("The program is killed where it gives no further answer for so long."),
  concurrency: z.int().min(1).max(256).default(2).describe("Programs that run at once."),
  batch: z.int().min(1).max(4096).default(64).describe("Actions that a program is given at most."),
  attempt: z
    .int()
    .min(1)
    .default(1)
    .describe("Verdicts are asked for anew under another number, such as after the program was changed."),
  ...judgeUse,
});

export type CommandOptions = z.output<typeof commandOptions>;
