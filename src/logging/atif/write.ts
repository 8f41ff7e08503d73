/** Writes a run's stored episodes as ATIF documents, a file for each kept trajectory. */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import { namesIn } from "../../present.ts";
import { readEpisodes } from "../../rollout/stored.ts";
import { makeDirectory, removeTemporaries, temporaryPrefix, writing } from "../../runs/durable.ts";
import { layoutOf } from "../../runs/layout.ts";
import { atifDocuments, type AtifRun } from "./trajectory.ts";

/**
 * Writes `train-12-3.0.7.json` for the trajectory that ends in node 0.7 of episode train/12/3, and returns the number of
 * files. They appear once all are written.
 * @param isOwn the folder is the run's own: its documents, which may be of episodes that the run no longer has, are
 * replaced. Names do not say of which run they are, so another folder must have none.
 * @throws TroupeError `bad_run` if the run is damaged or stores no episode
 */
export async function writeAtif(
  directory: string,
  run: AtifRun,
  out: string,
  isOwn = false,
): Promise<number> {
  await makeDirectory(out, again);
  const before = (await namesIn(out)).filter((name) => name.endsWith(".json"));
  if (!isOwn && before.length > 0)
    throw new TroupeError("bad_arguments", `${out} has files: give a new folder`);
  // Of an export that was interrupted. In another folder they may be of another program.
  if (isOwn) await removeTemporaries(out);
  const temporary = await writing(out, () => fs.mkdtemp(path.join(out, temporaryPrefix)), again);
  try {
    const names = await writeDocuments(directory, run, temporary);
    const replace = async (): Promise<void> => {
      for (const name of before) await fs.rm(path.join(out, name));
      for (const name of names) await fs.rename(path.join(temporary, name), path.join(out, name));
    };
    await writing(out, replace, again);
    return names.length;
  } finally {
    await fs.rm(temporary, { recursive: true, force: true });
  }
}

async function writeDocuments(directory: string, run: AtifRun, folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const stored of readEpisodes(directory)) {
    for (const [index, document] of atifDocuments(run, stored).entries()) {
      const name = `${stored.entry.id.replaceAll("/", "-")}.${stored.episode.ends[index]?.node ?? ""}.json`;
      const file = path.join(folder, name);
      const text = `${JSON.stringify(document, wellFormed)}\n`;
      await writing(file, () => fs.writeFile(file, text), again);
      names.push(name);
    }
  }
  if (names.length > 0) return names;
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
