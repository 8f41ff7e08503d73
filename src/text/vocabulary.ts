/** The entries of a vocabulary, and which of them are markup. */
import { isObject, type JsonObject } from "./files.ts";
import { EntryTable } from "./tables.ts";

/** An entry that is matched in text before anything else. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  /** Omitted when tokens are decoded. */
  readonly isSpecial: boolean;
  /** Matched after normalisation. */
  readonly isNormalized: boolean;
  /** Absorbs the white space before it, or after it. */
  readonly stripsLeft: boolean;
  readonly stripsRight: boolean;
}

export interface Vocabulary {
  /** Largest id plus one. */
  readonly size: number;
  readonly entries: readonly (string | undefined)[];
  /** Ids of the entries that text may become: all except control tokens. */
  readonly ids: Pick<EntryTable, "find">;
  readonly added: readonly AddedToken[];
  /** Added tokens that are markup: only a template, or the model itself, produces them. */
  readonly control: readonly AddedToken[];
}

/** More than any model has. */
const mostEntries = 2 ** 22;

/**
 * Tables are as long as the largest id, which a damaged file may set to anything. Real vocabularies have few gaps, of
 * reserved ids.
 */
function idsOf(entries: number): number {
  return Math.min(mostEntries, 4 * entries + 2 ** 16);
}

/** The vocabulary in a tokenizer.json. @throws Error if ids are not whole numbers that fit the number of entries */
export function readVocabulary(tokenizerJson: JsonObject): Vocabulary {
  const added = addedTokens(tokenizerJson["added_tokens"]);
  const most = idsOf(countEntries(tokenizerJson["model"]) + added.length);
  const control = added.filter(isControl);
  const entries: (string | undefined)[] = [];
  const enter = (entry: string, id: unknown): void => {
    if (!Number.isInteger(id) || (id as number) < 0 || (id as number) >= most) {
      const found = `the id of ${JSON.stringify(entry)} is ${JSON.stringify(id)}`;
      throw new Error(`${found}; expected a whole number from 0 to ${most - 1}`);
    }
    const other = entries[id as number];
    if (other !== undefined && other !== entry)
      throw new Error(
        `${JSON.stringify(other)} and ${JSON.stringify(entry)} have the same id, ${String(id)}`,
      );
    entries[id as number] = entry;
  };
  forEachEntry(tokenizerJson["model"], enter);
  for (const { content, id } of added) enter(content, id);
  return { size: entries.length, entries, ids: tableOf(entries, control), added, control };
}

/**
 * Parsed, a file has the last of two equal keys: the id of the first would be no text.
 * @param text of tokenizer.json
 * @throws Error for an entry with two ids
 */
export function checkKeys(text: string): void {
  const start = /"vocab"\s*:\s*\{/g;
  if (start.exec(text) === null) return;
  const row = /\s*"((?:[^"\\]|\\.)*)"\s*:\s*([^,}\s]+)\s*,?/y;
  row.lastIndex = start.lastIndex;
  const ids = new Map<string, string>();
  for (let found = row.exec(text); found !== null; found = row.exec(text)) {
    const [, spelled = "", id = ""] = found;
    const entry = spelled.includes("\\") ? (JSON.parse(`"${spelled}"`) as string) : spelled;
    const other = ids.get(entry);
    if (other !== undefined && other !== id)
      throw new Error(`${JSON.stringify(entry)} has two ids, ${other} and ${id}`);
    ids.set(entry, id);
  }
}

function tableOf(entries: readonly (string | undefined)[], control: readonly AddedToken[]): EntryTable {
  const table = new EntryTable(entries);
  const markup = new Set<string | undefined>(control.map(({ content }) => content));
  for (const [id, entry] of entries.entries()) if (entry !== undefined && !markup.has(entry)) table.add(id);
  return table;
}

/** The id of an entry, control tokens included. */
export function idOfEntry({ ids, control }: Vocabulary, entry: unknown): number | undefined {
  if (typeof entry !== "string") return undefined;
  const id = ids.find(entry);
  return id >= 0 ? id : control.find(({ content }) => content === entry)?.id;
}

function countEntries(model: unknown): number {
  let count = 0;
  forEachEntry(model, () => count++);
  return count;
}

/** A vocabulary is an object from entry to id, or (Unigram) a list of entries with scores. */
function forEachEntry(model: unknown, enter: (entry: string, id: unknown) => void): void {
  const vocabulary = isObject(model) ? model["vocab"] : undefined;
  if (Array.isArray(vocabulary)) {
    for (const [id, row] of vocabulary.entries()) enter(String((row as unknown[])[0]), id);
  } else if (isObject(vocabulary)) {
    for (const entry of Object.keys(vocabulary)) enter(entry, vocabulary[entry]);
  }
}

function addedTokens(value: unknown): AddedToken[] {
  const rows = Array.isArray(value) ? value.filter(isObject) : [];
  return rows
    .map((row) => ({
      id: row["id"] as number,
      content: String(row["content"]),
      isSpecial: row["special"] === true,
      isNormalized: row["normalized"] === undefined ? row["special"] !== true : row["normalized"] === true,
      stripsLeft: row["lstrip"] === true,
      stripsRight: row["rstrip"] === true,
    }))
    .filter(({ content }) => content !== "");
}

/**
 * Special tokens are, and anything spelled like markup: Qwen's `<think>` and `<tool_call>` are not special. Added words
 * and white space are text, and so are single characters.
 */
function isControl({ content, isSpecial }: AddedToken): boolean {
  return Array.from(content).length > 1 && (isSpecial || !/^[\p{L}\p{M}\p{N}\s▁_'-]+$/u.test(content));
}
