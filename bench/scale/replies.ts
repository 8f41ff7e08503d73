/** Token sequences for a simulated engine: reasoning of random words, and a plan in the last line. */
import { drawFloat, drawInt, generatorOf, rootKey, type Generator } from "../../src/random.ts";
import type { Tokenizer } from "../../src/text/tokenizer.ts";

const words =
  "first the agent is at a wall so we go right then down because left is blocked and up leads away".split(
    " ",
  );
const moves = ["up", "down", "left", "right"];

/** Lengths are log-normal: half of them are shorter than the median, a few are several times as long. */
export function replyBank(tokenizer: Tokenizer, count: number, medianTokens: number): Int32Array[] {
  const generator = generatorOf(rootKey(1));
  const end = tokenizer.endTokens.slice(0, 1);
  return Array.from({ length: count }, () => {
    const length = Math.round(medianTokens * Math.exp(0.6 * normal(generator)));
    const reasoning = tokenizer.encode(drawn(generator, words, 2 * length)).subarray(0, length);
    return Int32Array.from([...reasoning, ...tokenizer.encode(`\n${drawn(generator, moves, 6)}`), ...end]);
  });
}

function drawn(generator: Generator, from: readonly string[], count: number): string {
  return Array.from({ length: count }, () => from[drawInt(generator, from.length)]).join(" ");
}

/** Box–Muller. */
function normal(generator: Generator): number {
  const radius = Math.sqrt(-2 * Math.log(1 - drawFloat(generator)));
  return radius * Math.cos(2 * Math.PI * drawFloat(generator));
}
