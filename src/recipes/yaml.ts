/** Parses YAML text into a tree with the line and column of every key and value. */
import { closeSync, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Node, type Document } from "yaml";
import { RecipeError } from "./mistakes.ts";
import { shorten, type Origin, type Entry, type Scalar, type Tree } from "./tree.ts";

/** Recipes are short. A larger document is a mistake, or aliases that expand without end. */
const largestText = 2 ** 17;
const largestTree = 20_000;
const deepestTree = 64;
/** Most syntax errors reported per file. */
const mostErrors = 10;

/** Converts an offset in the text into an origin. */
export type Locate = (line: number, column: number) => Origin;

/** The tree of one YAML document. @throws RecipeError listing every syntax error */
export function parseYaml(text: string, locate: Locate): Tree {
  // The time that parsing takes grows with the square of some texts.
  if (text.length > largestText) throw tooLarge(locate(1, 1));
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const place = (offset: number): Origin => {
    const { line, col } = lines.linePos(offset);
    return locate(Math.max(1, line), Math.max(1, col));
  };
  const errors = [...document.errors, ...document.warnings];
  const overflow = errors.find(({ message }) => /call stack/i.test(message));
  if (overflow !== undefined) throw tooLarge(place(overflow.pos[0]));
  if (errors.length > 0) {
    throw new RecipeError(
      errors.slice(0, mostErrors).map((error) => ({
        origin: place(error.pos[0]),
        key: "",
        problem: `not valid YAML: ${printable(error.message)}`,
        ...(error.code === "BLOCK_AS_IMPLICIT_KEY" ? { fix: "text with a colon in it needs quotes" } : {}),
      })),
    );
  }
  return new Builder(document, place).build(document.contents, 0, place(0));
}

/** A message about a binary file must not print its bytes on the terminal. */
function printable(message: string): string {
  return shorten(message.replaceAll(/\p{Cc}+/gu, " "), 160);
}

function tooLarge(origin: Origin): RecipeError {
  return new RecipeError([{ origin, key: "", problem: "too large or too deep for a recipe" }]);
}

class Builder {
  private nodes = 0;
  private readonly document: Document.Parsed;
  private readonly place: (offset: number) => Origin;

  constructor(document: Document.Parsed, place: (offset: number) => Origin) {
    this.document = document;
    this.place = place;
  }

  build(node: Node | null, depth: number, around: Origin): Tree {
    const origin = this.originOf(node, around);
    if (++this.nodes > largestTree || depth > deepestTree) throw tooLarge(origin);
    if (isAlias(node)) return this.build(node.resolve(this.document) ?? null, depth + 1, origin);
    if (isMap(node)) return { kind: "mapping", origin, entries: this.entries(node.items, depth, origin) };
    if (isSeq(node)) {
      const items = node.items.map((item) => this.build(item as Node | null, depth + 1, origin));
      return { kind: "sequence", origin, items };
    }
    return { kind: "scalar", origin, value: isScalar(node) ? scalarOf(node.value) : null };
  }

  private entries(
    pairs: readonly { key: unknown; value: unknown }[],
    depth: number,
    around: Origin,
  ): ReadonlyMap<string, Entry> {
    const entries = new Map<string, Entry>();
    const merged: Entry[] = [];
    for (const { key, value } of pairs) {
      const keyOrigin = this.originOf(key as Node | null, around);
      if (!isScalar(key)) {
        throw new RecipeError([{ origin: keyOrigin, key: "", problem: "a key must be a plain name" }]);
      }
      const name = key.source ?? String(key.value);
      // As an object's key it would set the prototype and vanish.
      if (name === "__proto__")
        throw new RecipeError([{ origin: keyOrigin, key: "", problem: "`__proto__` is no name" }]);
      const entry = { keyOrigin, value: this.build(value as Node | null, depth + 1, keyOrigin) };
      if (name === "<<") merged.push(entry);
      else entries.set(name, entry);
    }
    for (const one of merged) fillIn(entries, one);
    return entries;
  }

  private originOf(node: Node | null, around: Origin): Origin {
    return node?.range ? this.place(node.range[0]) : around;
  }
}

/** YAML's merge key: `<<: *defaults` or a list of them; earlier ones and the mapping's own keys prevail. */
function fillIn(entries: Map<string, Entry>, { keyOrigin, value }: Entry): void {
  for (const source of value.kind === "sequence" ? value.items : [value]) {
    if (source.kind !== "mapping")
      throw new RecipeError([{ origin: keyOrigin, key: "<<", problem: "merges mappings only" }]);
    for (const [key, entry] of source.entries) if (!entries.has(key)) entries.set(key, entry);
  }
}

function scalarOf(value: unknown): Scalar {
  if (value === null || value === undefined) return null;
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return value === 0 ? 0 : value; // −0 is written 0 in every record
  return typeof value === "string" ? value : JSON.stringify(value);
}

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
