import { z } from "zod";
import { judgeUse } from "../options.ts";

export const commandOptions = z.strictObject({
  run: z
    .tuple([z.string().min(1)], z.string())
    .describe("The program and its arguments, run in the folder of this file."),
  directory: z.string().min(1).optional().describe("Another working directory, relative to this file."),
  env: z
    .array(z.string().regex(/^[A-Za-z_]\w*$/, "the name of an environment variable"))
    .default([])
    .describe("Environment variables to pass, besides PATH, HOME, locale and time zone."),
  timeoutSeconds: z
    .number()
    .gt(0)
    .max(86_400)
    .default(60)
    .describe("The program is killed after this long without an answer."),
  concurrency: z.int().min(1).max(256).default(2).describe("Number of processes."),
  batch: z.int().min(1).max(4096).default(64).describe("Maximum actions per process."),
  attempt: z
    .int()
    .min(1)
    .default(1)
    .describe("Change it to discard cached verdicts, for example after changing the program."),
  ...judgeUse,
});

export type CommandOptions = z.output<typeof commandOptions>;
