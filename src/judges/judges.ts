/** The table of judges that recipes name: options, checks and how each is created. */
import { measureAttacks } from "./coach/attacks/measure.ts";
import { coachJudge } from "./coach/coach.ts";
import { coachOptions } from "./coach/options.ts";
import { coachProblems } from "./coach/problems.ts";
import { estimateCoach } from "./coach/spending.ts";
import { commandJudge, commandOptions } from "./command/command.ts";
import { programProblems } from "./command/problems.ts";
import { useOf, type JudgeDefinition } from "./judge.ts";
import { memberJudge, memberOptions } from "./member.ts";

export const judges: Readonly<Record<string, JudgeDefinition>> = {
  coach: {
    summary:
      "A language model scores each action from 0 to 10, or ranks those taken in one state (docs/judges.md#the-coach).",
    options: coachOptions,
    incidental: [
      "baseUrl",
      "project",
      "location",
      "keyVariable",
      "timeoutSeconds",
      "concurrency",
      "breaker",
      "budget",
      "price",
      "recorded",
    ],
    folder: { option: "recorded", of: "recorded" },
    problems: (options, roles) => coachProblems(coachOptions.parse(options), roles),
    create(given) {
      const options = coachOptions.parse(given);
      return {
        ...useOf(options),
        open: (context) => coachJudge(options, context),
        estimate: (plan) => estimateCoach(options, plan),
        measureAttacks: (context) => measureAttacks(options, context),
      };
    },
  },
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
  member: {
    summary: "A role of the team writes the score of what others did before it.",
    options: memberOptions,
    incidental: [],
    create(given) {
      const options = memberOptions.parse(given);
      return { ...useOf(options), open: (context) => memberJudge(options, context) };
    },
  },
};
