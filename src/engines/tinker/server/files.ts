/** Files of saved weights. Links are never followed: they would lead out of the server's folder. */
import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Names of plain files and directories; none if there is no such folder. */
export function entriesIn(folder: string): readonly string[] {
  return namesIn(folder, (entry) => entry.isFile() || entry.isDirectory());
}

export function directoriesIn(folder: string): readonly string[] {
  return namesIn(folder, (entry) => entry.isDirectory());
}

interface Entry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

function namesIn(folder: string, isWanted: (entry: Entry) => boolean): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(isWanted)
    .map(({ name }) => name);
}

/** Of a file, or of all files in a directory; 0: there is none. */
export function bytesIn(place: string): number {
  const found = lstatSync(place, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found?.size ?? 0;
  return readdirSync(place).reduce((sum, file) => sum + bytesIn(join(place, file)), 0);
}
