/**
 * JSON whose numbers keep their digits. `JSON.parse` alone changes 12345678901234567890, and turns 1.0 into 1; both
 * would make a test of a program wrong.
 */

interface JsonWithSources {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
}

const json = JSON as unknown as JsonWithSources;

/**
 * The value of a JSON text. A number that would be written differently becomes an opaque object that `JSON.stringify`
 * writes unchanged. @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  return json.parse(text, (_, value, { source }) =>
    typeof value === "number" && source !== undefined && String(value) !== source
      ? json.rawJSON(source)
      : value,
  );
}

/** The same JSON without white space, with unchanged numbers. @throws SyntaxError */
export function compactJson(text: string): string {
  return JSON.stringify(parseExactJson(text));
}

/** Digits that a number may not keep. */
const manyDigits = /(?<![\d.])\d{16}/;

/** The value of a JSON text, with whole numbers that a number cannot hold as `bigint`. @throws SyntaxError */
export function parseWithBigInts(text: string): unknown {
  if (!manyDigits.test(text)) return JSON.parse(text);
  return json.parse(text, (_, value, { source = "" }) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}

/** As `JSON.stringify`, with the digits of those. */
export function stringifyBigInts(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "bigint" ? json.rawJSON(String(each)) : each,
  );
}
