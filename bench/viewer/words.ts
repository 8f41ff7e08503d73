/** Text of words with the frequencies of a language, as tokens: a word each. */
export class Words {
  readonly #words: readonly string[];
  #state: number;

  constructor(seed: number, size = 20_000) {
    this.#state = seed;
    const syllables = [
      "ba",
      "ke",
      "lo",
      "mi",
      "nu",
      "ra",
      "se",
      "ti",
      "vo",
      "wa",
      "pla",
      "stre",
      "gno",
      "er",
      "ing",
    ];
    const made = Array.from({ length: size }, (_, number) => {
      let [word, rest] = ["", number + 1];
      while (rest > 0) {
        word += syllables[rest % syllables.length];
        rest = Math.floor(rest / syllables.length);
      }
      return word;
    });
    this.#words = ["the", "of", "right", "down", "goal", "wall", "a1", "b7", "plan", "é", "日本", ...made];
  }

  /** In [0, 1). */
  draw(): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#state / 2 ** 32;
  }

  /** Zipf: a word's frequency is the inverse of its rank. */
  tokens(length: number): Int32Array {
    return Int32Array.from({ length }, () => Math.floor(this.#words.length ** this.draw()) - 1);
  }

  text(tokens: Iterable<number>): string {
    return Array.from(tokens, (token) => this.#words[token]).join(" ");
  }
}
