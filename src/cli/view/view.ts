/** `troupe view`: runs in the browser. */
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { listRuns } from "../../runs/read.ts";
import { pageHtml } from "../../view/bundle.ts";
import { ViewedRuns } from "../../view/runs.ts";
import { startViewServer } from "../../view/server.ts";
import { wholeNumber } from "../arguments.ts";
import { listenForStop } from "../exit.ts";
import { findRun } from "../places.ts";
import { printLines } from "../print.ts";
import { replay } from "./replay.ts";

interface ViewOptions {
  readonly runs: string;
  readonly port: number;
}

export function viewCommand(): Command {
  return new Command("view")
    .description("show runs in the browser, also while they train (docs/viewer.md)")
    .argument("[runs...]", "names or folders of runs (default: all in the folder of the runs)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--port <port>", "0: any free one", wholeNumber(0, 65_535), 0)
    .action(async (names: string[], { runs: folder, port }: ViewOptions) => {
      const given = await Promise.all(names.map((name) => findRun(name, folder)));
      const find = async () =>
        given.length > 0 ? given : (await listRuns(folder)).map(({ directory }) => directory);
      const runs = new ViewedRuns(find);
      const asked = Promise.withResolvers<void>();
      using _ = listenForStop(() => asked.resolve());
      await using server = await startViewServer({
        runs,
        page: () => pageHtml(),
        replay,
        port,
      });
      printLines([server.url]);
      await asked.promise;
      await runs.close();
    });
}
