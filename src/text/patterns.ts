/**
 * Regular expressions of a tokenizer, which come with models from anywhere. Some take longer than a lifetime on a short
 * text, and no general test recognises them; so those that are not known to be harmless run under a time limit.
 */
import { createContext, Script } from "node:vm";
import { TroupeError } from "../errors.ts";
import { isObject, type JsonObject } from "./files.ts";

/** Ends synchronous work that takes too long, even a regular expression. */
const context = createContext({});
const script = new Script("work()");

/** The result of `work`; null if it takes longer. Costs a thread, about 0.1 ms: for work that may never end. */
export function endingWithin<T>(milliseconds: number, work: () => T): T | null {
  let result: T | null = null;
  const outer: unknown = context["work"];
  context["work"] = (): void => {
    result = work();
  };
  try {
    script.runInContext(context, { timeout: milliseconds });
    return result;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return null;
    throw error;
  } finally {
    context["work"] = outer;
  }
}

const words = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`;
const others = String.raw`| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
/** How Qwen2 and Llama 3, and what follows them, split a text: Qwen2 with each digit alone, Llama 3 by up to three. */
export const qwenSplit = `${words}${String.raw`\p{N}`}${others}`;
export const llamaSplit = `${words}${String.raw`\p{N}{1,3}`}${others}`;
const harmless = new Set([qwenSplit, llamaSplit]);

/** A long text on a slow machine takes less. */
const mostSeconds = 20;

/** Wraps functions that use the tokenizer's expressions; they throw `bad_model` naming `file` if those take too long. */
export function patternGuard(
  tokenizerJson: JsonObject,
  file: string,
): <Given extends readonly unknown[], T>(run: (...given: Given) => T) => (...given: Given) => T {
  const { model: _, added_tokens: __, ...rest } = tokenizerJson;
  const unknown = expressionsIn(rest).find((expression) => !harmless.has(expression));
  if (unknown === undefined) return (run) => run;
  return (run) =>
    (...given) => {
      const result = endingWithin(1000 * mostSeconds, () => ({ value: run(...given) }));
      if (result !== null) return result.value;
      const fix = "use another tokenizer";
      throw new TroupeError(
        "bad_model",
        `${file} has a regular expression that takes more than ${mostSeconds} s on a text (${unknown.slice(0, 100)}); ${fix}`,
      );
    };
}

function expressionsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(expressionsIn);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === "Regex" && typeof inner === "string" ? [inner] : expressionsIn(inner),
  );
}
