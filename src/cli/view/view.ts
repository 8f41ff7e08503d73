/** `troupe view`: runs in the browser. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { runFolders } from "../../runs/read.ts";
import { pageHtml } from "../../view/bundle.ts";
import { exportOf } from "../../view/export.ts";
import { ViewedRuns } from "../../view/runs.ts";
import { startViewServer } from "../../view/server.ts";
import { wholeNumber } from "../arguments.ts";
import { listenForStop } from "../exit.ts";
import { findRun } from "../places.ts";
import { printLines, printNote } from "../print.ts";
import { continueFrom } from "./continue.ts";

interface ViewOptions {
  readonly runs: string;
  readonly port: number;
  readonly export?: string;
  readonly episodes?: number;
}

/** In an exported file, of each run. */
const mostEpisodes = 50;

export function viewCommand(): Command {
  return new Command("view")
    .description("show runs in the browser, also while they train (docs/viewer.md)")
    .argument("[runs...]", "names or folders of runs (default: all in the folder of the runs)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--port <port>", "0: any free one", wholeNumber(0, 65_535), 0)
    .option("--export <file>", "write one file of HTML that needs no server, and end")
    .option(
      "--episodes <n>",
      `with --export: episodes of each run, half of training (default: ${mostEpisodes})`,
      wholeNumber(0),
    )
    .action(async (names: string[], { runs: folder, port, export: file, episodes }: ViewOptions) => {
      if (file === undefined && episodes !== undefined)
        throw new TroupeError(
          "bad_arguments",
          "--episodes is how many an exported file has: it needs --export FILE. The viewer shows all",
        );
      const found = await Promise.all(names.map((name) => findRun(name, folder)));
      const given = [...new Map(found.map((directory) => [resolve(directory), directory])).values()];
      const find = async () => (given.length > 0 ? given : runFolders(folder));
      const runs = new ViewedRuns(find);
      if (file !== undefined) return exportTo(file, runs, episodes ?? mostEpisodes);
      const asked = Promise.withResolvers<void>();
      using _ = listenForStop(() => asked.resolve());
      await using server = await startViewServer({
        runs,
        page: () => pageHtml(),
        continueFrom,
        port,
      });
      printLines([server.url]);
      if ((await find()).length === 0)
        printNote(`${resolve(folder)} has no runs yet; the page shows those that begin.`);
      printNote("Ctrl-C ends the viewer.");
      await asked.promise;
      await runs.close();
    });
}

/** Larger files are slow to open in a browser. */
const mostCharacters = 64 * 2 ** 20;

async function exportTo(file: string, runs: ViewedRuns, episodes: number): Promise<void> {
  try {
    const exported = await exportOf(runs, { episodes, characters: mostCharacters });
    if (exported.runs.length === 0) throw new TroupeError("bad_arguments", "there is no run to export");
    const html = await pageHtml(exported);
    await writeFile(file, html).catch((cause: Error) => {
      throw new TroupeError("bad_arguments", `${file} cannot be written: ${cause.message}`, { cause });
    });
    printLines([`${file} has ${exported.runs.map(({ run }) => run).join(", ")}.`, ...exported.leftOut]);
  } finally {
    await runs.close();
  }
}
