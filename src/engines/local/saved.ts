/** Saved policies in the file system: a model directory, and of a checkpoint `NAME.optimizer` beside it. */
import { basename, join } from "node:path";
import { TroupeError } from "../../errors.ts";
import type { SavedPolicy, SavePlace, StoredPolicy } from "../engine.ts";

/** @throws TroupeError `bad_arguments`: the name is not that of one entry of the folder */
export function pathOf({ folder, name }: SavePlace): string {
  if (name !== "" && name !== "." && name !== ".." && basename(name) === name) return join(folder, name);
  throw new TroupeError(
    "bad_arguments",
    `The name of a save is ${JSON.stringify(name)}; expected a file name.`,
  );
}

export function directoryOf({ saved, folder }: StoredPolicy): string {
  return join(folder, saved.location);
}

export function optimizerFile(directory: string): string {
  return `${directory}.optimizer`;
}

export function savedPolicy(kind: SavedPolicy["kind"], { name }: SavePlace, version: number): SavedPolicy {
  return { kind, location: name, version, directory: name };
}
