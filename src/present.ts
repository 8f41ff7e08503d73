/**
 * What has a name on the disk. Only the answer that nothing has the name means that nothing is there: a folder that
 * cannot be read is not empty, and a file that cannot be opened is not missing. Whoever took it for that would start over,
 * or count less, without a word.
 */
import { lstatSync, statSync, type Stats } from "node:fs";
import fs from "node:fs/promises";
import { TroupeError, type ErrorCode } from "./errors.ts";

/** What `read` returns; null: nothing has the name. @throws TroupeError of the code for every other failure */
export async function ifPresent<T>(
  place: string,
  read: (place: string) => Promise<T>,
  code: ErrorCode = "bad_run",
): Promise<T | null> {
  try {
    return await read(place);
  } catch (error) {
    if (isAbsent(place, error)) return null;
    throw error instanceof TroupeError ? error : cannotRead(place, error as Error, code);
  }
}

/** Null: nothing has the name. @throws as `ifPresent` */
export function statOf(place: string, code?: ErrorCode): Promise<Stats | null> {
  return ifPresent(place, (name) => fs.stat(name), code);
}

export async function isPresent(place: string, code?: ErrorCode): Promise<boolean> {
  return (await statOf(place, code)) !== null;
}

/** The names in a folder; none if nothing has its name. @throws as `ifPresent`, also for a file of that name */
export async function namesIn(folder: string, code?: ErrorCode): Promise<string[]> {
  return (await ifPresent(folder, (name) => fs.readdir(name), code)) ?? [];
}

/** @throws as `ifPresent` */
export function isPresentSync(place: string, code: ErrorCode = "bad_run"): boolean {
  try {
    statSync(place);
    return true;
  } catch (error) {
    if (isAbsent(place, error)) return false;
    throw cannotRead(place, error as Error, code);
  }
}

/** Whether a file or a link to one has the name. @throws as `ifPresent` */
export function isFileSync(place: string, code?: ErrorCode): boolean {
  return isPresentSync(place, code) && statSync(place).isFile();
}

/** It is there and may be whole: nothing is advised that would lose it. */
export function cannotRead(place: string, cause: Error, code: ErrorCode = "bad_run"): TroupeError {
  const problem =
    (cause as NodeJS.ErrnoException).code === "ENOENT" && isLink(place)
      ? "it is a link to nothing"
      : cause.message;
  const advice = "Check the disk and the rights of the file, then repeat the command.";
  return new TroupeError(code, `Cannot read ${place}: ${problem}. ${advice}`, { cause });
}

/** Whether the contents may be as they were, and only reading them failed: rights, the disk, too many open files. */
export function isUnreadable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { errno, code = "" } = error as NodeJS.ErrnoException;
  return typeof errno === "number" && !["ENOENT", "ENOTDIR", "EISDIR", "ELOOP"].includes(code);
}

/** A link whose target is gone, as on a disk that is not mounted, and a file where a folder is read, are there. */
function isAbsent(place: string, error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return !isLink(place);
  return impossible.has(code) && entryOf(place) === null;
}

/** Nothing can have a name below a file, or one that is too long, or that contains a zero. */
const impossible: ReadonlySet<string> = new Set(["ENOTDIR", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"]);

function isLink(place: string): boolean {
  return entryOf(place)?.isSymbolicLink() === true;
}

/** Called once reading has failed, whose reason is reported. */
function entryOf(place: string): Stats | null {
  try {
    return lstatSync(place);
  } catch {
    return null;
  }
}
