/** The tokenizers made by tests/fixtures/text/make.py, unchanged or with another chat template. */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadTokenizer, type Tokenizer } from "../tokenizer.ts";

export const fixtures = new URL("../../../tests/fixtures/text/", import.meta.url).pathname;

export function fixtureTokenizer(style: string): Tokenizer {
  return loadTokenizer(join(fixtures, style));
}

/** The style's tokenizer with other files. */
export function changedTokenizer(style: string, files: Readonly<Record<string, string>>): Tokenizer {
  const directory = mkdtempSync(join(tmpdir(), "troupe-text-"));
  cpSync(join(fixtures, style), directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const tokenizer = loadTokenizer(directory);
  rmSync(directory, { recursive: true });
  return tokenizer;
}

/** What the ids stand for, control tokens included. */
export function textOf(tokenizer: Tokenizer, ids: Iterable<number>): string {
  return Buffer.concat([...ids].map((id) => tokenizer.tokenBytes(id))).toString();
}
