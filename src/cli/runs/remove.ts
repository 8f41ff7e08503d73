/** `troupe runs rm`: deletes runs after asking, or with --yes. */
import fs from "node:fs/promises";
import path from "node:path";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { isPresentSync } from "../../present.ts";
import { removeDirectory } from "../../runs/durable.ts";
import { layoutOf } from "../../runs/layout.ts";
import { acquireLock } from "../../runs/lock.ts";
import { findRun } from "../places.ts";
import { askPerson } from "../person.ts";
import { printLines } from "../print.ts";

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
        printLines([await remove(directory)]);
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

/**
 * Returns what was done. Of a link only the link is removed.
 * @throws TroupeError `in_use` if a process is writing the run; `bad_arguments` if the folder is something else, such as
 * a project with a file recipe.yaml
 */
async function remove(directory: string): Promise<string> {
  if ((await fs.lstat(directory)).isSymbolicLink()) {
    const run = await fs.realpath(directory);
    await fs.unlink(directory);
    return `removed the link ${directory}; the run stays in ${run}`;
  }
  const foreign = await foreignIn(directory);
  if (foreign !== null)
    throw new TroupeError(
      "bad_arguments",
      `${directory} is not deleted: it has no records of a training, but ${foreign}, which is not part of a run; delete it yourself if it may go`,
    );
  // Released with the folder.
  await acquireLock(directory);
  await removeDirectory(directory);
  return `deleted ${directory}`;
}

/** What a run that has just begun cannot have. Null: nothing, or the run has records. */
async function foreignIn(directory: string): Promise<string | null> {
  const { directory: _, metrics, engines, checkpoints, ...others } = layoutOf(directory);
  if ([metrics, engines, checkpoints].some((file) => isPresentSync(file))) return null;
  const own = new Set(Object.values(others).map((file) => path.basename(file)));
  const names = await fs.readdir(directory);
  return names.find((name) => !own.has(name) && !/^(lock-|\.)/.test(name)) ?? null;
}
