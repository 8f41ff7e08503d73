/** The table of judges. */
import { commandJudge } from "./command/command.ts";
import { commandOptions } from "./command/options.ts";
import { programProblems } from "./command/problems.ts";
import type { JudgeDefinition } from "./judge.ts";
import { useOf } from "./options.ts";

export const judges: Readonly<Record<string, JudgeDefinition>> = {
  command: {
    summary: "A program reads actions as JSON lines and writes scores from 0 to 1.",
    options: commandOptions,
    incidental: ["directory", "env", "timeoutSeconds", "concurrency", "batch"],
    folder: { option: "directory", of: "run" },
    problems: (options) => programProblems(commandOptions.parse(options)),
    create(given) {
      const options = commandOptions.parse(given);
      return { ...useOf(options), open: (context) => commandJudge(options, context) };
    },
  },
};
