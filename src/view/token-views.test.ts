import { expect, it } from "vitest";
import { textOfTokens, tokenTexts, type TokenTable } from "./token-views.ts";

function tableOf(...entries: readonly (string | Uint8Array)[]): TokenTable {
  const all = entries.map((entry) => Buffer.from(entry));
  const starts = new Uint32Array(all.length + 1);
  for (const [id, { length }] of all.entries()) starts[id + 1] = (starts[id] ?? 0) + length;
  return { bytes: Buffer.concat(all), starts, control: new Set([0]) };
}

it("shows each token's own text, and the bytes of a character that tokens share", () => {
  const euro = Buffer.from("€");
  const table = tableOf(
    "<|end|>",
    "a",
    Buffer.concat([Buffer.from(" "), euro.subarray(0, 2)]),
    euro.subarray(2),
    "é",
  );
  expect(tokenTexts(table, [1, 2, 3, 4, 0, 99])).toEqual([
    { text: "a" },
    { text: " ‹E2 82›", isPart: true },
    { text: "‹AC›", isPart: true },
    { text: "é" },
    { text: "<|end|>", isControl: true },
    { text: "" },
  ]);
  expect(textOfTokens(table, [1, 2, 3, 4])).toBe("a €é");
});
