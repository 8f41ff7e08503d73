/** Writes a run's stored episodes as ATIF documents, a file for each kept trajectory. */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { readEpisodes } from "../../rollout/stored.ts";
import { makeDirectory, writing } from "../../runs/durable.ts";
import { layoutOf } from "../../runs/layout.ts";
import { atifDocuments, type AtifRun } from "./trajectory.ts";

/**
 * Writes `train-12-3.0.7.json` for the trajectory that ends in node 0.7 of episode train/12/3, and returns the number of
 * files. @throws TroupeError `bad_run` if the run is damaged or stores no episode
 */
export async function writeAtif(directory: string, run: AtifRun, out: string): Promise<number> {
  await makeDirectory(out, again);
  let files = 0;
  for await (const stored of readEpisodes(directory)) {
    for (const [index, document] of atifDocuments(run, stored).entries()) {
      const name = `${stored.entry.id.replaceAll("/", "-")}.${stored.episode.ends[index]?.node ?? ""}.json`;
      const file = path.join(out, name);
      const text = `${JSON.stringify(document, wellFormed)}\n`;
      await writing(file, () => fs.writeFile(file, text), again);
      files += 1;
    }
  }
  if (files > 0) return files;
  const { episodes } = layoutOf(directory);
  throw new TroupeError(
    "bad_run",
    `${episodes} has no trajectory; \`record\` in the recipe says which episodes are kept`,
  );
}

const again = "it writes all files again";

/** Halves of surrogate pairs, which a model may write, are no text in other languages. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === "string" ? value.toWellFormed() : value;
}
