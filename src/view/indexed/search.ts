/**
 * A text in all prompts and replies. Blocks whose filter lacks a trigram of it are skipped; the others are searched from
 * the newest to the oldest, in slices. When the run has grown, only the new blocks are searched.
 */
import { excerptOf, folded, mayHave, searchable, trigramsOf, type Excerpt } from "./fold.ts";
import type { IndexTexts } from "./texts.ts";

export class Search {
  readonly #folded: string;
  readonly #bytes: Buffer;
  readonly #trigrams: readonly number[];
  /** Blocks before `start` are done; of those before `end`, the ones from `next` on, too. */
  #start = 0;
  #next = 0;
  #end = 0;

  constructor(text: string) {
    this.#folded = folded(searchable(text));
    this.#bytes = Buffer.from(this.#folded);
    this.#trigrams = trigramsOf(this.#folded);
  }

  /** Blocks that are done. */
  get searched(): number {
    return this.#start + this.#end - this.#next;
  }

  /** Searches for so many milliseconds, or until all blocks are done. Returns the rows of the texts that have it. */
  slice(texts: IndexTexts, milliseconds: number): number[] {
    const [began, rows] = [performance.now(), [] as number[]];
    do {
      if (this.#next === this.#start)
        [this.#start, this.#next, this.#end] = [this.#end, texts.blocks, texts.blocks];
      if (this.#next === this.#start) break;
      const block = this.#next - 1;
      if (mayHave(texts.filterOf(block), this.#trigrams)) this.#searchBlock(texts, block, rows);
      this.#next = block;
    } while (performance.now() - began < milliseconds);
    return rows;
  }

  #searchBlock(texts: IndexTexts, block: number, rows: number[]): void {
    const haystack = texts.folded(block);
    let [row, start] = [texts.firstText(block), 0];
    for (let at = haystack.indexOf(this.#bytes); at !== -1;) {
      let end = start + (texts.lengths[row] ?? 0);
      while (at >= end) {
        start = end + 1;
        row += 1;
        end = start + (texts.lengths[row] ?? 0);
      }
      rows.push(row);
      // One is enough in each text.
      at = haystack.indexOf(this.#bytes, end);
    }
  }

  /** Where it is first in a text. Null: nowhere. */
  excerpt(texts: IndexTexts, row: number): Excerpt | null {
    return excerptOf(texts.text(row), this.#folded);
  }
}
