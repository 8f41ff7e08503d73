/**
 * Initial embeddings of an untrained model. A model with few words learns faster if words with similar spelling start
 * similar, in the order of letters and numbers: b is between a and c, 5 between 4 and 6.
 *
 * A word is split into parts, single letters and whole numbers ("c10" is c and 10). The part at place p is encoded by
 * its value x as √2·(cos ωx, sin ωx) in every fourth pair of dimensions, starting with pair p mod 4, with frequencies ω
 * that are drawn once. Adding one is then the same rotation for every word, which an attention head can learn for all
 * of them at once. Every word also gets its own noise, so that no two start the same.
 *
 * These are the sinusoids of Vaswani et al. (2017, section 3.5), with frequencies drawn as in Rahimi and Recht (2007),
 * applied to spelling. They are only an initialisation: training changes all of it.
 */
import { drawFloat, generatorOf, keyAt, rootKey, type Generator, type Key } from "../random.ts";

/** Box-Muller transform: two normal numbers from two uniform ones. Overwrites and returns `values`. */
export function fillNormal(values: Float32Array, generator: Generator, deviation: number): Float32Array {
  for (let i = 0; i < values.length; i += 2) {
    const radius = deviation * Math.sqrt(-2 * Math.log(1 - drawFloat(generator)));
    const angle = 2 * Math.PI * drawFloat(generator);
    values[i] = radius * Math.cos(angle);
    if (i + 1 < values.length) values[i + 1] = radius * Math.sin(angle);
  }
  return values;
}

/** Places after the fourth share the pairs of the first four. */
const places = 4;
/**
 * Radians per letter or unit; ω·10 ranges from a fraction of a turn to a few, so that ten values can be distinguished.
 */
const frequencies = { least: 0.15, most: 1.6 };
/** Relative to a matrix's deviation: the amplitude of the parts, and the deviation of the word's own noise. */
const shares = { parts: 1.5, own: 0.75 };

/** @returns one row of `width` numbers per word; the empty word (a special token) gets only noise */
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
    // Parts that share these dimensions; divides by its root, so that long words have no larger norm.
    const crowd = Math.ceil((parts.length - (place % places)) / places);
    for (let pair = place % places; pair < omegas.length; pair += places) {
      const angle = (omegas[pair] ?? 0) * value;
      row[2 * pair] = (row[2 * pair] ?? 0) + (amplitude * Math.cos(angle)) / Math.sqrt(crowd);
      row[2 * pair + 1] = (row[2 * pair + 1] ?? 0) + (amplitude * Math.sin(angle)) / Math.sqrt(crowd);
    }
  });
}

/** The value of each part: of a number itself, of a letter its position in the alphabet. */
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
