import { expect, it } from "vitest";
import { drawn, faultsOf, withFaults } from "./faults.ts";

const source = `const outside = 1 + 2;
export async function total(values: readonly number[], limit?: number) {
  if (values.length === 0) return -1;
  if (limit !== undefined && values.length > limit) throw new Error("Too many" + limit);
  return clipped(await sum(values), limit ?? 3, a?.b(c, d));
}
`;

it("finds each kind of fault inside functions, and none in texts, types and what modules compute as they load", () => {
  expect(
    faultsOf("src/total.ts", source).map(({ line, kind, replacement }) => [line, kind, replacement]),
  ).toEqual([
    [3, "removed check", "false"],
    [3, "comparison", "(values.length) !== (0)"],
    [3, "sign", "1"],
    [4, "removed check", "false"],
    [4, "comparison", "(limit !== undefined) || (values.length > limit)"],
    [4, "comparison", "(limit) === (undefined)"],
    [4, "bound", "(values.length) >= (limit)"],
    [5, "missing await", "sum(values)"],
  ]);
});

it("exchanges arguments, but not across an optional chain", () => {
  const kinds = faultsOf("src/a.ts", "const f = () => [g(a, b), h?.(a, b), k(a, a), m(...a, b), n({}, b)];");
  expect(kinds.map(({ replacement }) => replacement)).toEqual(["g(b, a)"]);
});

it("writes a file that behaves as before unless a fault is active", () => {
  const faults = faultsOf("src/deep/total.ts", "export const less = (a: number, b: number) => a < b;");
  const text = withFaults(
    "export const less = (a: number, b: number) => a < b;",
    faults.map((fault) => ({ ...fault, number: 7 })),
    "tests/mutants/active.ts",
  );
  expect(text).toBe(
    'import { fault as __fault } from "../../tests/mutants/active.ts";\n' +
      "export const less = (a: number, b: number) => (__fault(7) ? ((a) <= (b)) : (a < b));",
  );
});

it("draws the same faults for the same seed, one of each kind in turn, wherever their lines move", () => {
  const faults = faultsOf("src/total.ts", source);
  const chosen = drawn(faults, 1, 4);
  expect(new Set(chosen.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(3);
  const moved = drawn(faultsOf("src/total.ts", `\n\n${source}`), 1, 4);
  expect(moved.map(({ original }) => original)).toEqual(chosen.map(({ original }) => original));
  const inPlace = chosen.toSorted((a, b) => a.start - b.start);
  expect(inPlace.every((one, index) => one.end <= (inPlace[index + 1]?.start ?? Infinity))).toBe(true);
});
