/** Random values for generated tables. */
import { drawFloat, drawInt, generatorOf, type Generator, type Key } from "../../../../random.ts";

/** Of a usual table. */
export const rows = { train: 420, test: 180 } as const;

export class Draw {
  readonly #generator: Generator;

  constructor(key: Key) {
    this.#generator = generatorOf(key);
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * drawFloat(this.#generator);
  }

  /** Both ends included. */
  int(low: number, high: number): number {
    return low + drawInt(this.#generator, high - low + 1);
  }

  /** Box–Muller. */
  normal(mean = 0, deviation = 1): number {
    const [first, second] = [drawFloat(this.#generator), drawFloat(this.#generator)];
    return mean + deviation * Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
  }

  chance(probability: number): boolean {
    return drawFloat(this.#generator) < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[drawInt(this.#generator, items.length)] as Item;
  }

  /** An index with these probabilities, which sum to 1. */
  among(probabilities: readonly number[]): number {
    let left = drawFloat(this.#generator);
    const found = probabilities.findIndex((one) => (left -= one) < 0);
    return found === -1 ? probabilities.length - 1 : found;
  }

  /** A day in [start, start + days), as ISO date and as the number of days since the start. */
  day(start: string, days: number): { readonly text: string; readonly number: number; readonly date: Date } {
    const number = this.int(0, days - 1);
    const date = new Date(Date.parse(`${start}T00:00:00Z`) + number * 86_400_000);
    return { text: date.toISOString().slice(0, 10), number, date };
  }
}

export function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** Probabilities of the first and the second class. */
export function binary(value: number): readonly number[] {
  return [1 - logistic(value), logistic(value)];
}

export function softmax(values: readonly number[]): number[] {
  const powers = values.map((one) => Math.exp(one - Math.max(...values)));
  const total = powers.reduce((sum, one) => sum + one, 0);
  return powers.map((one) => one / total);
}
