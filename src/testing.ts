/** For tests of arguments: what callers in JavaScript may pass in place of them, or of something inside them. */
import * as fc from "fast-check";

const oddity = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    Number.NaN,
    Infinity,
    -1,
    0.5,
    1n,
    "",
    "\0",
    "p",
    "\ud800",
    [],
    {},
  ),
  fc.constantFrom<unknown>(Symbol("s"), () => 1, new Date(Number.NaN), Object.create(null), [null], {
    signal: {},
  }),
  fc.constant(Int32Array.of(1)),
  fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true }),
);

export interface InvalidCall<Name extends string> {
  readonly name: Name;
  readonly given: readonly unknown[];
}

/** One of the functions and its valid arguments, with an oddity in place of one of them or of something inside it. */
export function invalidCalls<Name extends string>(
  valid: Readonly<Record<Name, readonly unknown[]>>,
): fc.Arbitrary<InvalidCall<Name>> {
  const names = Object.keys(valid) as Name[];
  const turns = fc.array(fc.nat(), { minLength: 5, maxLength: 5 });
  return fc
    .record({ name: fc.constantFrom(...names), at: fc.nat(), depth: fc.nat(4), turns, odd: oddity })
    .map(({ name, at, depth, turns: path, odd }) => {
      const given = [...valid[name]];
      const index = at % given.length;
      given[index] = replaced(given[index], odd, path.slice(0, depth));
      return { name, given };
    });
}

function replaced(value: unknown, odd: unknown, [turn, ...turns]: readonly number[]): unknown {
  // Another function is no mistake of the caller's that its type would show.
  if (typeof value === "function" && typeof odd === "function") return value;
  if (turn === undefined || typeof value !== "object" || value === null || ArrayBuffer.isView(value))
    return odd;
  const keys = Object.keys(value);
  const key = keys[turn % keys.length];
  if (key === undefined) return odd;
  const inner = replaced((value as Record<string, unknown>)[key], odd, turns);
  return Array.isArray(value) ? value.with(Number(key), inner) : { ...value, [key]: inner };
}

/** What is thrown, at once or later. Undefined: nothing. */
export async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}
