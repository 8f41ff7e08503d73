/** Reads the small JSON files of a model directory, with errors that name the file and the fix. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { command } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { isPresentSync } from "../present.ts";

/** JSON nested so deeply that code which follows it, here or in a library, would exhaust the stack. */
const deepest = 100;

/** Whether a parsed value has more levels of lists and objects than any file of a model. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly object[] = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === deepest) return true;
    level = level.flatMap((each) => Object.values(each).filter(isNested));
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The object in `directory/name`. @throws TroupeError `bad_model` if the file is missing, unreadable or not a JSON
 * object
 */
export function readObject(directory: string, name: string): JsonObject {
  const file = join(directory, name);
  if (!isPresentSync(file, "bad_model")) {
    const fix = `use a model directory in the Hugging Face layout, or create one with \`${command("init")}\``;
    throw new TroupeError("bad_model", `${file} does not exist; ${fix}`);
  }
  return parseObject(file, readText(file));
}

/** The same for an optional file. */
export function readOptionalObject(directory: string, name: string): JsonObject {
  return isPresentSync(join(directory, name), "bad_model") ? readObject(directory, name) : {};
}

/** The text of an optional file. */
export function readOptionalText(directory: string, name: string): string | undefined {
  const file = join(directory, name);
  return isPresentSync(file, "bad_model") ? readText(file) : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reading a pipe would wait for ever, and a device may have no end.
 * @throws TroupeError `bad_model` if something other than a file has the name
 */
export function checkRegular(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile()) return;
  const what = found.isDirectory() ? "a folder" : "a pipe or a device";
  throw new TroupeError("bad_model", `${file} is ${what}; expected a file`);
}

function readText(file: string): string {
  checkRegular(file);
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new TroupeError("bad_model", `${file} cannot be read: ${String(cause)}`, { cause });
  }
}

function parseObject(file: string, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const hint = "the file is damaged or incomplete; copy it again";
    throw new TroupeError("bad_model", `${file} is not valid JSON (${String(cause)}); ${hint}`, { cause });
  }
  if (isTooDeep(value))
    throw new TroupeError("bad_model", `${file} is nested too deeply for a file of a model`);
  if (isObject(value)) return value;
  throw new TroupeError("bad_model", `${file} must contain a JSON object, found ${typeof value}`);
}
