/**
 * A text in all prompts and replies. Blocks whose filter lacks a trigram of it are skipped; the others are searched from
 * the newest to the oldest, in slices, so that the server answers meanwhile. What was found is kept, and only new blocks
 * are searched when the run has grown.
 */
import { setImmediate as later } from "node:timers/promises";
import type { IndexColumns } from "./columns.ts";
import { folded, mayHave, trigramsOf } from "./fold.ts";
import { none, promptBit, rowFiles } from "./format.ts";

/** Milliseconds of a slice. */
const slice = 10;

export class Search {
  readonly text: string;
  readonly #folded: string;
  readonly #trigrams: readonly number[];
  /** By row, 1: found. */
  #replies = new Uint8Array();
  #prompts = new Uint8Array();
  #searched = 0;
  #all = 0;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(text: string) {
    this.text = text;
    this.#folded = folded(text.toWellFormed().replaceAll("\0", " "));
    this.#trigrams = trigramsOf(this.#folded);
  }

  /** Of the blocks, from 0 to 1. */
  get share(): number {
    return this.#all === 0 ? 1 : this.#searched / this.#all;
  }

  /** Searches what is new, until it is done or so many milliseconds have passed; then it goes on by itself. */
  async run(columns: IndexColumns, milliseconds: number): Promise<void> {
    const before = this.#all;
    if (columns.blocks > before) {
      this.#all = columns.blocks;
      this.#replies = extended(this.#replies, columns.head.actions);
      this.#prompts = extended(this.#prompts, columns.rows.prompts.length / rowFiles.prompts.length);
      this.#running = this.#running.then(() => this.#search(columns, before, columns.blocks));
      // Whoever waits hears of it.
      this.#running.catch(() => {});
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, milliseconds);
    await Promise.race([this.#running, promise]);
    clearTimeout(timer);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Whether an action wrote it. @param first the action's first row */
  isInReply(first: number): boolean {
    return this.#replies[first] === 1;
  }

  /** The prompt that has it, of a prompt and those it continues. Null: none. */
  promptWithIt(columns: IndexColumns, prompt: number): number | null {
    for (let at = prompt; at !== none; at = columns.at("prompts", at, 2))
      if (this.#prompts[at] === 1) return at;
    return null;
  }

  /** Where it is in a text, and how long it is there. Null: it is not. */
  placeIn(text: string): number | null {
    const at = folded(text).indexOf(this.#folded);
    return at === -1 ? null : at;
  }

  async #search(columns: IndexColumns, from: number, to: number): Promise<void> {
    let began = performance.now();
    for (let block = to - 1; block >= from && !this.#isStopped; block--) {
      if (mayHave(columns.filterOf(block), this.#trigrams)) this.#searchBlock(columns, block);
      this.#searched += 1;
      if (performance.now() - began < slice) continue;
      await later();
      began = performance.now();
    }
  }

  #searchBlock(columns: IndexColumns, number: number): void {
    const { text, firstText } = columns.block(number);
    const haystack = folded(text);
    let [row, start] = [firstText, 0];
    for (let at = haystack.indexOf(this.#folded); at !== -1;) {
      let end = start + columns.at("texts", row, 1);
      while (at >= end) {
        start = end + 1;
        row += 1;
        end = start + columns.at("texts", row, 1);
      }
      const owner = columns.at("texts", row, 0);
      if (owner >= promptBit) this.#prompts[owner - promptBit] = 1;
      else this.#replies[owner] = 1;
      // One is enough in each text.
      at = haystack.indexOf(this.#folded, end);
    }
  }
}

function extended(marks: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(marks);
  return larger;
}
