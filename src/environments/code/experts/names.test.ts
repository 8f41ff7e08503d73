import { expect, it } from "vitest";
import { expertNamed } from "./names.ts";

it.each([
  ["claude-3-5-sonnet-20241022", "anthropic"],
  ["deepseek-coder", "deepseek"],
  ["gpt-4o", "openai"],
  ["o3-mini", "openai"],
  ["gemini-2.5-pro", "google"],
  ["qwen3-coder-flash", "dashscope"],
])("%s is an expert of %s", (model, provider) => {
  expect(expertNamed(model)).toEqual({ provider, model });
});

it("the published qwen3-coder is DashScope's qwen3-coder-plus", () => {
  expect(expertNamed("qwen3-coder")).toEqual({ provider: "dashscope", model: "qwen3-coder-plus" });
});

it("another name is an error with a remedy", () => {
  expect(() => expertNamed("wizard")).toThrow(/no provider is known for the expert wizard; .*compatible/);
});
