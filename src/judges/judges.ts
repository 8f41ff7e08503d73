/** The table of judges. */
import type { z } from "zod";
import { commandJudge } from "./command/command.ts";
import { commandOptions } from "./command/options.ts";
import type { OpenJudge } from "./judge.ts";

/** An entry of the table: checked options make a judge. */
export interface JudgeDefinition {
  readonly summary: string;
  readonly options: z.ZodObject;
  create(options: unknown): OpenJudge;
}

export const judges: Readonly<Record<string, JudgeDefinition>> = {
  command: {
    summary: "A program of your own reads actions as lines of JSON and writes scores.",
    options: commandOptions,
    create: (options) => (context) => commandJudge(commandOptions.parse(options), context),
  },
};
