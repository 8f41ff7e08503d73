/** Prices of models, for budgets and estimates. */
import type { CoachOptions } from "./options.ts";

export interface Price {
  /** Dollars for a million tokens. */
  readonly input: number;
  readonly output: number;
  /** When the table was checked; null: the price is the recipe's. */
  readonly checked: string | null;
}

type Row = readonly [input: number, output: number, checked: string];

/**
 * List prices: the highest of the day, for short prompts, without discounts for caches or batches. The beginning of the
 * model's name decides, the longest first.
 */
const table: Readonly<Record<string, Row>> = {
  "gemini-2.5-pro": [1.25, 10, "2026-03"],
  "gemini-2.5-flash": [0.3, 2.5, "2026-03"],
  "gemini-2.5-flash-lite": [0.1, 0.4, "2026-03"],
  "gpt-5": [1.25, 10, "2026-06"],
  "gpt-6-sol": [2, 10, "2026-09"],
  "gpt-6-luna": [0.1, 0.5, "2026-09"],
  "claude-opus-5": [5, 25, "2026-10"],
  "claude-opus-5-5": [4, 20, "2026-10"],
  "claude-sonnet-4-5": [3, 15, "2026-10"],
  "claude-sonnet-5": [2, 10, "2026-10"],
  "claude-sonnet-5-5": [2, 10, "2026-10"],
  "claude-haiku-4-5": [1, 5, "2026-10"],
  "claude-haiku-5-5": [0.1, 0.5, "2026-10"],
  "deepseek-flash": [0.3, 1.2, "2026-10"],
  "deepseek-v4-pro": [1.32, 3.96, "2026-10"],
};

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
  const found = longest === undefined ? undefined : table[longest];
  if (found === undefined) return null;
  const [input, output, checked] = found;
  return { input, output, checked };
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
