/** The table of published keys in docs/code.md. `node src/recipes/published/page.ts` updates it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PublishedKey, publishedKeys } from "./keys.ts";

export const pageFile = join(import.meta.dirname, "..", "..", "..", "docs", "code.md");

const table = /(?<=## Keys of MAGRPO's configuration\n[^]*?\n)\|[^]*?\n(?!\|)/;

export function refreshed(page: string): string {
  if (!table.test(page)) throw new Error(`${pageFile} has no table of published keys`);
  return page.replace(table, () => lines().join(""));
}

function lines(): readonly string[] {
  return ["| published | here |\n", "| --- | --- |\n", ...publishedKeys.map(line)];
}

function line({ names, ours, note }: PublishedKey): string {
  const here = ours.length === 0 ? `none: ${note}` : [quoted(ours), note].filter(Boolean).join("; ");
  return `| ${quoted(names)} | ${here} |\n`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

if (import.meta.main) writeFileSync(pageFile, refreshed(readFileSync(pageFile, "utf8")));
