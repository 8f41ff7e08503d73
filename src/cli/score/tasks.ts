/** `troupe tasks`: tasks of a split, one JSON line each, in the form that `troupe score` reads. */
import { Command } from "commander";
import { distinctTasks } from "../../environments/tasks.ts";
import { wholeNumber, recipeOrEnvironment, withOverrideOption, type OverrideOptions } from "../arguments.ts";
import { printJsonLine, printNote } from "../print.ts";

interface TasksArguments extends OverrideOptions {
  readonly split: string;
  readonly count: number;
  readonly offset: number;
  readonly json?: boolean;
}

export function tasksCommand(): Command {
  return withOverrideOption(new Command("tasks"))
    .description("print tasks of a split as JSON lines, to add actions to and `score`")
    .argument("<recipe-or-environment>", "recipe or environment of the tasks")
    .argument("[key.path=value...]", "changes to the recipe, `environment.size=9`")
    .option("--split <split>", "train, validation, heldOut, or one of the environment's own", "heldOut")
    .option("--count <number>", "number of tasks at most", wholeNumber(1), 10)
    .option("--offset <number>", "tasks to skip", wholeNumber(0), 0)
    .option("--json", "no note on standard error")
    .action(async (given: string, overrides: string[], options: TasksArguments) => {
      const { split, count, offset, json } = options;
      const { environment } = await recipeOrEnvironment(given, overrides, options);
      let seen = 0;
      for await (const { index, task } of distinctTasks(environment, split)) {
        if (++seen <= offset) continue;
        await printJsonLine({ task, split, index });
        if (seen === offset + count) return;
      }
      if (json !== true) printNote(`${split} has ${seen} distinct tasks`);
    });
}
