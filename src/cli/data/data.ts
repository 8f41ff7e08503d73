/** `troupe data`: lists data sets of problems; its subcommands download, show and verify them, and make tasks of prediction. */
import { Command } from "commander";
import { command } from "../../command-line.ts";
import { cacheLayout } from "../../data/cache.ts";
import { hubAccess } from "../../data/hub/requests.ts";
import { openDataset, type OpenDataset } from "../../data/open.ts";
import type { ProblemSet } from "../../data/sets/problem-set.ts";
import { problemSets } from "../../data/sets/registered.ts";
import { TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { printJson, printLines } from "../print.ts";
import { tableLines } from "../table.ts";
import { downloadCommand } from "./download.ts";
import { convertCommand, generateCommand } from "./prediction-tasks.ts";
import { showCommand } from "./show.ts";
import { verifyCommand } from "./verify.ts";

export function dataCommand(): Command {
  const parent = new Command("data")
    .description("list, download, show and verify data sets")
    .enablePositionalOptions();
  parent.addCommand(
    new Command("list")
      .description("list the registered data sets")
      .option("--json", "print one JSON document")
      .action(listDatasets),
  );
  const others = [downloadCommand(), showCommand(), verifyCommand(), generateCommand(), convertCommand()];
  for (const inner of others) parent.addCommand(inner);
  return parent;
}

interface Listed {
  readonly name: string;
  readonly hub: string;
  readonly title: string;
  readonly licence: string;
  readonly configs: readonly ListedConfig[];
}

interface ListedConfig {
  readonly config: string;
  /** Rows by split, as published. */
  readonly splits: Readonly<Record<string, number>>;
  /** Whether all files of all splits are in the cache. */
  readonly downloaded: boolean;
}

async function listDatasets({ json }: { readonly json?: boolean }): Promise<void> {
  const listed = await Promise.all(problemSets.map(listedOf));
  if (json) return printJson(listed);
  const columns = ["name", "config", "licence", "splits and rows", "here"].map((title) => ({ title }));
  const rows = listed.flatMap((set) =>
    set.configs.map((config, index) => [
      index === 0 ? set.name : "",
      config.config,
      index === 0 ? set.licence : "",
      Object.entries(config.splits)
        .map(([split, count]) => `${split} ${showCount(count)}`)
        .join(", "),
      config.downloaded ? "yes" : "no",
    ]),
  );
  const hint = `\`${command("data", "show")} NAME\` describes one; any data set of the hub can be named as OWNER/NAME`;
  printLines([...tableLines(columns, rows), "", hint, `cache: ${cacheLayout().root}`]);
}

async function listedOf(set: ProblemSet): Promise<Listed> {
  const { name, hub, title, licence } = set;
  const configs = Object.entries(set.configs).map(async ([config, { splits }]) => ({
    config,
    splits: Object.fromEntries(Object.entries(splits).map(([split, { rows }]) => [split, rows])),
    downloaded: await isHere(set, config, Object.keys(splits)),
  }));
  return { name, hub, title, licence, configs: await Promise.all(configs) };
}

async function isHere({ name }: ProblemSet, config: string, splits: readonly string[]): Promise<boolean> {
  const opened = await openHere(name, config);
  if (opened === null || splits.some((split) => opened.splits[split] === undefined)) return false;
  const files = Object.values(opened.splits).flat();
  const places = await Promise.all(files.map((file) => opened.snapshot.present(file)));
  return places.every((place) => place !== null);
}

/** Without contacting the hub. */
async function openHere(name: string, config: string): Promise<OpenDataset | null> {
  try {
    return await openDataset({ name, config }, { access: { ...hubAccess(), isOffline: true } });
  } catch (error) {
    if (error instanceof TroupeError && error.code === "bad_data") return null;
    throw error;
  }
}
