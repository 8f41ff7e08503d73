/** Prices of models, for budgets and estimates. */
import type { CoachOptions } from "./options.ts";

export interface Price {
  /** Dollars for a million tokens. */
  readonly input: number;
  readonly output: number;
  /** When the table was checked; null: the price is the recipe's. */
  readonly checked: string | null;
}

const checked = "2025-11";

/** List prices without discounts for caches or batches; the beginning of the model's name decides, the longest first. */
const table: Readonly<Record<string, readonly [input: number, output: number]>> = {
  "gemini-2.5-pro": [1.25, 10],
  "gemini-2.5-flash": [0.3, 2.5],
  "gemini-2.5-flash-lite": [0.1, 0.4],
  "gpt-4o": [2.5, 10],
  "gpt-4o-mini": [0.15, 0.6],
  "gpt-4.1": [2, 8],
  "gpt-4.1-mini": [0.4, 1.6],
  "gpt-4.1-nano": [0.1, 0.4],
  "gpt-5": [1.25, 10],
  "gpt-5-mini": [0.25, 2],
  "gpt-5-nano": [0.05, 0.4],
  "claude-opus-4-1": [15, 75],
  "claude-sonnet-4": [3, 15],
  "claude-haiku-4-5": [1, 5],
  "deepseek-chat": [0.28, 0.42],
  "deepseek-reasoner": [0.28, 0.42],
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
  return found === undefined ? null : { input: found[0], output: found[1], checked };
}

/** `gpt-4.1-2025-04-14` is a version of gpt-4.1, `gpt-4.1-mini` a different model. */
function isVersionOf(model: string, name: string): boolean {
  return (
    model === name ||
    (model.startsWith(name) && /^[-@](\d|latest|preview|exp)/.test(model.slice(name.length)))
  );
}

export function costOf(
  { inputTokens, outputTokens }: { readonly inputTokens: number; readonly outputTokens: number },
  { input, output }: Pick<Price, "input" | "output">,
): number {
  return (inputTokens * input + outputTokens * output) / 1e6;
}
