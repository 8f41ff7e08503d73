/** `troupe data`: data sets of programming problems, listed, downloaded, shown and verified. */
import { Command } from "commander";
import { downloadCommand } from "./download.ts";
import { listDatasets } from "./list.ts";
import { showCommand } from "./show.ts";
import { convertCommand, generateCommand } from "./tasks-of-tables.ts";
import { verifyCommand } from "./verify.ts";

export function dataCommand(): Command {
  const command = new Command("data")
    .description("list, download, show and verify data sets")
    .enablePositionalOptions();
  command.addCommand(
    new Command("list")
      .description("list the registered data sets")
      .option("--json", "print one JSON document")
      .action(listDatasets),
  );
  const others = [downloadCommand(), showCommand(), verifyCommand(), generateCommand(), convertCommand()];
  for (const inner of others) command.addCommand(inner);
  return command;
}
