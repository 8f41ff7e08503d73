/** What an experiment needs that Troupe does not include: models, data sets. Checked before anything starts. */
import { isPresentSync } from "../present.ts";
import { openDataset } from "../data/open.ts";
import { TroupeError } from "../errors.ts";
import type { Definition, Requirement } from "./definition.ts";

/**
 * Downloads data sets that are registered but not in the cache.
 * @throws TroupeError `bad_arguments` with everything that is missing, how to fetch it and where to put it
 */
export async function checkRequirements({ name, requires }: Definition): Promise<void> {
  const missing: string[] = [];
  for (const each of requires) if (!isThere(each) || !(await isOpened(each))) missing.push(showMissing(each));
  if (missing.length === 0) return;
  const problem = `${name} needs what is not on this machine. In ${process.cwd()}:`;
  throw new TroupeError("bad_arguments", [problem, ...missing].join("\n  "));
}

/** Whether its file or folder exists; a data set is only known after opening it. */
export function isThere({ path }: Requirement): boolean {
  return path === undefined || isPresentSync(path);
}

async function isOpened({ dataset }: Requirement): Promise<boolean> {
  if (dataset === undefined) return true;
  try {
    await openDataset(dataset);
    return true;
  } catch (error) {
    if (error instanceof TroupeError && error.code === "bad_data") return false;
    throw error;
  }
}

function showMissing({ path, dataset, fetch }: Requirement): string {
  return `${path ?? `the data set ${dataset ?? ""}`}: ${fetch}`;
}
