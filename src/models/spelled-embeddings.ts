/**
 * Where the embeddings of an untrained model start. A model of a few words learns faster when words that are spelled alike
 * begin alike, in the way that letters and numbers are ordered: b lies between a and c, 5 between 4 and 6.
 *
 * A word is split into parts, single letters and whole numbers ("c10" is c and 10). The part at place p is coded by its
 * value x as √2·(cos ωx, sin ωx) in every fourth pair of dimensions, beginning with pair p mod 4, with frequencies ω that
 * are drawn once. Counting on by one is then the same rotation for every word, which an attention head can learn for all of
 * them at once. Every word also gets numbers of its own, so that no two begin the same.
 *
 * These are the sinusoids of Vaswani et al. (2017, section 3.5), with frequencies drawn as in Rahimi and Recht (2007),
 * applied to spelling. Only the starting point is meant: training changes all of it.
 */
import { drawFloat, generatorOf, keyAt, rootKey, type Key } from "../random.ts";
import { fillNormal } from "./normal.ts";

/** Places beyond the fourth share the pairs of the first four. */
const places = 4;
/** Radians per letter or unit; ω·10 spans from a fraction of a turn to a few, so that ten values are told apart. */
const frequencies = { least: 0.15, most: 1.6 };
/** Of a matrix's deviation: the amplitude of the parts, and the deviation of the word's own numbers. */
const shares = { parts: 1.5, own: 0.75 };

/** @returns one row of `width` numbers for each word; the empty word (a special token) gets only numbers of its own. */
export function spelledEmbeddings(
  words: readonly string[],
  width: number,
  seed: number,
  deviation: number,
): Float32Array {
  const key = keyAt(rootKey(seed), "embeddings");
  const omegas = drawFrequencies(keyAt(key, "frequencies"), width >> 1);
  const values = new Float32Array(words.length * width);
  words.forEach((word, index) => {
    const row = values.subarray(index * width, (index + 1) * width);
    fillNormal(row, generatorOf(keyAt(key, "word", index)), deviation * shares.own);
    addSpelling(row, partsOf(word), omegas, deviation * shares.parts * Math.SQRT2);
  });
  return values;
}

function addSpelling(
  row: Float32Array,
  parts: readonly number[],
  omegas: readonly number[],
  amplitude: number,
): void {
  parts.forEach((value, place) => {
    // As many parts as share these dimensions, so that a long word is no louder than a short one.
    const crowd = Math.ceil((parts.length - (place % places)) / places);
    for (let pair = place % places; pair < omegas.length; pair += places) {
      const angle = (omegas[pair] ?? 0) * value;
      row[2 * pair] = (row[2 * pair] ?? 0) + (amplitude * Math.cos(angle)) / Math.sqrt(crowd);
      row[2 * pair + 1] = (row[2 * pair + 1] ?? 0) + (amplitude * Math.sin(angle)) / Math.sqrt(crowd);
    }
  });
}

/** The value of each part: a number is itself, a letter its distance from the one before "a". */
function partsOf(word: string): number[] {
  return (word.match(/[0-9]{1,6}|./gsu) ?? []).map((part) =>
    /^[0-9]/.test(part) ? Number(part) : (part.codePointAt(0) ?? 0) - 96,
  );
}

function drawFrequencies(key: Key, count: number): number[] {
  const generator = generatorOf(key);
  const { least, most } = frequencies;
  return Array.from({ length: count }, () => least + (most - least) * drawFloat(generator));
}
