/** Prices of models, for budgets and estimates. */
import prices from "./prices.json" with { type: "json" };
import type { CoachOptions } from "./options.ts";

export interface Price {
  /** Dollars for a million tokens. */
  readonly input: number;
  readonly output: number;
  /** When the table was checked; null: the price is the recipe's. */
  readonly checked: string | null;
}

/**
 * prices.json: list prices, the highest of the day, for short prompts, without discounts for caches or batches. The beginning
 * of the model's name decides, the longest first.
 */
const table: Readonly<Record<string, Price>> = prices;

/** Null: unknown. A server of one's own costs nothing. */
export function priceOf({
  provider,
  model,
  price,
}: Pick<CoachOptions, "provider" | "model" | "price">): Price | null {
  if (price !== undefined) return { ...price, checked: null };
  if (provider === "compatible") return null;
  const names = Object.keys(table).filter((name) => isVersionOf(model, name));
  const [longest] = names.toSorted((one, other) => other.length - one.length);
  return longest === undefined ? null : (table[longest] ?? null);
}

/** `gpt-5-2025-08-07` is a version of gpt-5; `gpt-5-mini` and `claude-opus-5-5` are different models. */
function isVersionOf(model: string, name: string): boolean {
  if (!model.startsWith(name)) return false;
  return /^$|^[-@](\d{3,}|latest|preview|exp)/.test(model.slice(name.length));
}

export function costOf(
  { inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number },
  { input, output }: Pick<Price, "input" | "output">,
): number {
  return (inputTokens * input + outputTokens * output) / 1e6;
}
