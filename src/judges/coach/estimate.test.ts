import { expect, it } from "vitest";
import { coachOptions } from "./options.ts";
import { priceOf } from "./prices.ts";
import { blameRule } from "./rubric.ts";
import { estimateCoach } from "./spending.ts";

const client = { provider: "compatible", model: "m", baseUrl: "http://127.0.0.1/" };
/** Ten states with four actions each, then forty with one. */
const plan = [
  { states: 10, alternatives: 4, seen: 100, written: 50, others: 30 },
  { states: 40, alternatives: 1, seen: 20, written: 30, others: 50 },
];

it("every action is a request, or in relative mode every state", () => {
  const options = coachOptions.parse({ ...client, rubric: "r".repeat(400), price: { input: 2, output: 10 } });
  const fixed = 400 + (400 + blameRule.length) / 4;
  const scored = estimateCoach(options, plan);
  const input = 40 * (fixed + 180) + 40 * (fixed + 100);
  expect(scored).toMatchObject({
    requests: 80,
    inputTokens: Math.round(input),
    outputTokens: 6400,
    priceOf: null,
  });
  expect(scored.dollars).toBeCloseTo((2 * scored.inputTokens + 10 * 6400) / 1e6, 12);
  const ranked = estimateCoach({ ...options, relative: true }, plan);
  const shared = 10 * (fixed + 100 + 4 * 80) + 40 * (fixed + 100);
  expect(ranked).toMatchObject({ requests: 50, inputTokens: Math.round(shared), outputTokens: 6400 });
});

it.each([
  ["openai", "gpt-6-luna", 0.1],
  ["openai", "gpt-5", 1.25],
  ["openai", "gpt-5-2025-08-07", 1.25],
  ["openai", "gpt-5-mini", null],
  ["google", "gemini-2.5-flash-lite", 0.1],
  ["google", "gemini-2.5-flash", 0.3],
  ["vertex", "gemini-2.5-flash-preview-09-2025", 0.3],
  ["anthropic", "claude-opus-5-5", 4],
  ["anthropic", "claude-haiku-4-5-20251001", 1],
  ["anthropic", "claude-opus-5-7", null],
  ["compatible", "gpt-5", null],
] as const)("the price of %s's %s", (provider, model, input) => {
  expect(priceOf({ provider, model })?.input ?? null).toBe(input);
});

it("a price in the recipe wins", () => {
  const price = { input: 7, output: 8 };
  expect(priceOf({ provider: "openai", model: "gpt-5", price })).toEqual({ ...price, checked: null });
});
