/** `troupe runs rm`: deletes runs after asking, or with --yes. */
import path from "node:path";
import { Command } from "commander";
import { TroupeError } from "../../errors.ts";
import { removeDirectory } from "../../runs/durable.ts";
import { acquireLock } from "../../runs/lock.ts";
import { findRun } from "../find-run.ts";
import { askPerson } from "../play/ask.ts";
import { printLines } from "../print.ts";
import { runsFolder } from "../runs-folder.ts";

export function removeCommand(): Command {
  return new Command("rm")
    .description("delete runs with their checkpoints and episodes")
    .argument("<runs...>", "names or folders of runs")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--yes", "do not ask")
    .action(async (names: string[], { runs, yes }: { runs: string; yes?: boolean }) => {
      const given = await Promise.all(names.map((name) => findRun(name, runs)));
      const directories = [...new Set(given.map((each) => path.resolve(each)))];
      if (yes !== true && !(await confirmed(directories))) return printLines(["nothing was deleted"]);
      for (const directory of directories) {
        await remove(directory);
        printLines([`deleted ${directory}`]);
      }
    });
}

async function confirmed(directories: readonly string[]): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new TroupeError("bad_arguments", "deleting runs without a terminal to ask needs --yes");
  using person = askPerson(process.stdin, process.stdout);
  person.tell(directories.join("\n"));
  const answer = await person.ask("Delete with all checkpoints and episodes? [y/N] ");
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

/** @throws TroupeError `in_use` if a process is writing the run */
async function remove(directory: string): Promise<void> {
  // Released with the folder.
  await acquireLock(directory);
  await removeDirectory(directory);
}
