/**
 * Prints a command's result: lines for people, or JSON. Much of it was written by models, environments and judges, so
 * control characters are replaced. Nothing else writes to the terminal, except what tests/sources.test.ts lists.
 */
import { once } from "node:events";
import { showLines } from "../format.ts";

export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${showLines(lines.join("\n"))}\n`);
}

/** On standard error: what is not the result. */
export function printNote(line: string): void {
  process.stderr.write(`${showLines(line)}\n`);
}

/** A value of many; waits for a slow reader. */
export async function printJsonLine(value: unknown): Promise<void> {
  if (!process.stdout.write(jsonLines(value))) await once(process.stdout, "drain");
}

export function printJson(value: unknown): void {
  process.stdout.write(jsonLines(value, 2));
}

/**
 * The value as JSON, with a line feed behind it. JSON itself escapes control characters only up to U+001F, and terminals
 * obey those from U+0080 to U+009F as well.
 */
export function jsonLines(value: unknown, indent?: number): string {
  const json = JSON.stringify(value, null, indent).replaceAll(/[^\P{C}\n]/gu, escaped);
  return `${json}\n`;
}

function escaped(characters: string): string {
  return Array.from({ length: characters.length }, (_, index) => {
    return `\\u${characters.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}
