/** The text of a YAML file that a person wrote, or says to have written. */
import { closeSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";

/** Recipes are short; a larger file is something else, such as a model. */
const largestFile = 2 ** 20;

/**
 * Reading a pipe would wait for ever, and a device may have no end.
 * @throws Error whose message says why there is no text
 */
export function readText(file: string): string {
  const text = contents(file).toString("utf8");
  if (text.includes("\0")) throw new Error("it is not a text file");
  return text;
}

function contents(file: string): Buffer {
  try {
    // Opening a pipe would wait, too.
    checkKind(statSync(file));
    const descriptor = openSync(file, "r");
    try {
      checkKind(fstatSync(descriptor));
      return readFileSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw code === undefined ? cause : new Error(code, { cause });
  }
}

function checkKind(found: ReturnType<typeof fstatSync>): void {
  if (found.isDirectory()) throw new Error("it is a folder");
  if (!found.isFile()) throw new Error("it is a pipe or a device");
  if (found.size > largestFile) throw new Error(`it has ${found.size} bytes, too many for a text of people`);
}
