/** Files of a run, which others may have put something else in the place of. */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";

/**
 * Reading a pipe would wait for ever, and a device may have no end.
 * @throws TroupeError `bad_run` for those; the errors of `fs.readFile`
 */
export async function readRegular(file: string): Promise<Buffer> {
  const found = await fs.stat(file);
  if (found.isFile() || found.isDirectory()) return fs.readFile(file);
  throw new TroupeError(
    "bad_run",
    `${file} is a pipe or a device; expected a file. Put the run's own file back, or remove it.`,
  );
}
