import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fits, narrow, widen, type WeightFormat } from "./float-formats.ts";

/** V8's own conversion, an independent implementation that TypeScript's libraries do not declare yet. */
const Float16 = (
  globalThis as unknown as { Float16Array: new (source: number[] | ArrayBuffer) => Float32Array }
).Float16Array;

function widened(format: WeightFormat, bits: Uint16Array): Float32Array {
  const values = new Float32Array(bits.length);
  widen(format, new Uint8Array(bits.buffer), values);
  return values;
}

function narrowedBits(format: WeightFormat, values: number[]): Uint16Array {
  return new Uint16Array(narrow(format, Float32Array.from(values)).slice().buffer);
}

const everyPattern = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

test("every float16 widens as in V8", () => {
  expect(widened("F16", everyPattern)).toEqual(Float32Array.from(new Float16(everyPattern.buffer)));
});

test.each(["BF16", "F16"] as const)(
  "every %s pattern that is a number survives widening and narrowing",
  (format) => {
    const values = widened(format, everyPattern);
    const numbers = everyPattern.filter((_, i) => !Number.isNaN(values[i]));
    expect(narrowedBits(format, [...widened(format, numbers)])).toEqual(numbers);
  },
);

test("NaN stays NaN", () => {
  const pattern = new Float32Array(Uint32Array.of(0x7f800001, 0xffffffff).buffer);
  for (const format of ["BF16", "F16"] as const) {
    const values = widened(format, new Uint16Array(narrow(format, pattern).slice().buffer));
    expect([...values].every(Number.isNaN)).toBe(true);
  }
});

test("float16 rounds as in V8", () => {
  const anyFloat = fc.oneof(
    fc.float({ noNaN: true }),
    fc.float({ noNaN: true, min: -70_000, max: 70_000 }),
    fc.float({ noNaN: true, min: -Math.fround(1e-4), max: Math.fround(1e-4) }),
  );
  fc.assert(
    fc.property(anyFloat, (value) => {
      const expected = new Uint16Array((new Float16([value]) as unknown as { buffer: ArrayBuffer }).buffer);
      expect(narrowedBits("F16", [value])).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test("bfloat16 rounds to nearest, ties to even", () => {
  const one = 1;
  const step = 2 ** -7;
  const rounded = widened(
    "BF16",
    narrowedBits("BF16", [one + step / 4, one + step / 2, one + 1.5 * step, one + 0.75 * step]),
  );
  expect([...rounded]).toEqual([one, one, one + 2 * step, one + step]);
});

test("detects a weight that is too large for the format", () => {
  expect(fits("F16", Float32Array.of(65_519, -65_519, Infinity))).toBe(true);
  expect(fits("F16", Float32Array.of(65_520))).toBe(false);
  expect(fits("BF16", Float32Array.of(3.38e38))).toBe(true);
  expect(fits("BF16", Float32Array.of(3.4e38))).toBe(false);
});
