/** `troupe data generate` and `troupe data convert`: folders of prediction tasks for the environment data-science. */
import { Argument, Command } from "commander";
import { shellWord } from "../../command-line.ts";
import { convertDsbench } from "../../environments/data-science/tasks/dsbench.ts";
import { writeTask } from "../../environments/data-science/tasks/folder.ts";
import { generatedTasks } from "../../environments/data-science/tasks/generated/tasks.ts";
import { printJson, printLines } from "../print.ts";

export function generateCommand(): Command {
  return new Command("generate")
    .description("write the 24 generated tasks of data-science into a folder")
    .argument("<folder>", "each task becomes a folder in it")
    .action(async (folder: string) => {
      const tasks = generatedTasks();
      for (const task of tasks) await writeTask(folder, await task.read());
      printLines([
        `${tasks.length} tasks in ${folder}; use them with ${shellWord(`environment.tasks=${folder}`)}`,
      ]);
    });
}

interface ConvertOptions {
  readonly train?: string;
  readonly heldOut?: string;
  readonly json?: boolean;
}

export function convertCommand(): Command {
  return new Command("convert")
    .description("convert a downloaded collection of prediction tasks into folders for data-science")
    .addArgument(new Argument("<collection>", "which collection").choices(["dsbench"]))
    .argument(
      "<source>",
      "folder data_modeling of DSBench, with its data.zip and save_performance.zip unpacked",
    )
    .argument("<folder>", "each task becomes a folder in it")
    .option(
      "--train <file>",
      "JSON lines with the descriptions of training tasks (dsbench_modeling_train.json)",
    )
    .option("--held-out <file>", "the same, of held-out tasks (dsbench_modeling_eval.json)")
    .option("--json", "print one JSON document")
    .action(async (_: string, source: string, folder: string, options: ConvertOptions) => {
      const { train, heldOut } = options;
      const given = {
        ...(train === undefined ? {} : { train }),
        ...(heldOut === undefined ? {} : { heldOut }),
      };
      const descriptions = Object.keys(given).length === 0 ? {} : { descriptions: given };
      const converted = await convertDsbench({ source, target: folder, ...descriptions });
      if (options.json === true) return printJson(converted);
      printLines([
        `${converted.written.length} tasks in ${folder}`,
        ...Object.entries(converted.skipped).map(([name, reason]) => `not ${name}: ${reason}`),
      ]);
    });
}
