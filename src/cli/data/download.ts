/** `troupe data download`: downloads splits of a data set into the cache and reads them once. */
import { Command } from "commander";
import { cacheRoot } from "../../cache-root.ts";
import { command } from "../../command-line.ts";
import { openDataset, type OpenDataset } from "../../data/open.ts";
import type { ProblemStore } from "../../data/prepared.ts";
import { checkSplit } from "../../data/slices.ts";
import { showBytes, showCount, showText } from "../../format.ts";
import { printJson, printLines } from "../print.ts";
import { datasetGiven, withDatasetOptions, type GivenOptions } from "./given.ts";
import { stoppingDownloads, showProgress } from "./progress.ts";

interface DownloadArguments extends GivenOptions {
  readonly json?: boolean;
}

interface Downloaded {
  readonly split: string;
  readonly bytes: number;
  readonly rows: number;
  readonly malformed: number;
}

export function downloadCommand(): Command {
  return withDatasetOptions(new Command("download"))
    .description("download a data set, or some of its splits, into the cache")
    .argument("[splits...]", "train, test, …; none: all of the configuration")
    .option("--json", "print one JSON document")
    .action((name: string, splits: string[], options: DownloadArguments) => download(name, splits, options));
}

async function download(name: string, splits: string[], options: DownloadArguments): Promise<void> {
  using progress = showProgress();
  using stopping = stoppingDownloads();
  const dataset = await openDataset(datasetGiven(name, options), {
    ...progress.options,
    refresh: true,
    signal: stopping.stop,
  });
  const known = Object.keys(dataset.splits);
  for (const split of splits) checkSplit(split, known, dataset.name);
  const done: Downloaded[] = [];
  for (const split of splits.length > 0 ? splits : known)
    done.push(downloaded(dataset, split, await dataset.problems(split)));
  const { name: hub, commit, config } = dataset;
  if (options.json) return printJson({ dataset: hub, commit, config, cache: cacheRoot(), splits: done });
  const from = commit === null ? "" : ` at ${commit.slice(0, 12)}`;
  printLines([
    `${showText(hub, 200)}${from}, ${config}, in ${cacheRoot()}`,
    ...done.map(lineOf),
    ...next(name, options, done),
  ]);
}

function downloaded({ splits }: OpenDataset, split: string, { rows, malformed }: ProblemStore): Downloaded {
  const bytes = (splits[split] ?? []).reduce((sum, file) => sum + file.size, 0);
  return { split, bytes, rows, malformed: malformed.length };
}

function lineOf({ split, bytes, rows, malformed }: Downloaded): string {
  const skipped = malformed === 0 ? "" : `, ${showCount(malformed)} of them malformed and skipped`;
  return `  ${split}  ${showBytes(bytes)}  ${showCount(rows)} rows${skipped}`;
}

function next(name: string, { config }: GivenOptions, done: readonly Downloaded[]): string[] {
  if (done.every(({ malformed }) => malformed === 0)) return [];
  const verifying = command("data", "verify", name, ...(config ? ["--config", config] : []));
  return [`\`${verifying}\` lists malformed rows`];
}
