/**
 * Protobuf messages as tables of fields, with their types inferred. Unknown fields are skipped. A message of two bytes
 * per field would take a hundred times its size in memory, so the number of fields is limited.
 */
import { bytes, decode, double, varint, type Field } from "../../../protobuf.ts";

/** What was read of a field: a varint, or the bytes of anything else. */
type Raw = bigint | Buffer;

/** Fields and numbers that may still be read. */
interface Budget {
  left: number;
}

/** A request of 16,384 data has less. */
const mostFields = 2 ** 20;

export interface Kind<T> {
  /** The value of an absent field. */
  empty(): T;
  read(raw: Raw, before: T, budget: Budget): T;
  /** Absent fields have no encoding. */
  write(field: number, value: T): readonly Field[];
}

type Fields = Readonly<Record<string, readonly [number: number, kind: Kind<unknown>]>>;

type ValuesOf<F extends Fields> = {
  readonly [Name in keyof F]: F[Name][1] extends Kind<infer T> ? T : never;
};

export interface Message<T> {
  encode(value: Partial<T>): Buffer;
  /** @throws RangeError if the bytes are no such message */
  decode(encoded: Buffer, budget?: Budget): T;
}

export type MessageValue<M> = M extends Message<infer T> ? T : never;

export function message<F extends Fields>(fields: F): Message<ValuesOf<F>> {
  const names = new Map(Object.entries(fields).map(([name, [number]]) => [number, name]));
  return {
    encode: (value) =>
      Buffer.concat(
        Object.entries(fields).flatMap(([name, [number, kind]]) => {
          const own = (value as Record<string, unknown>)[name];
          return own === undefined ? [] : kind.write(number, own).flat();
        }),
      ),
    decode: (encoded, budget = { left: mostFields }) => {
      const found = decode(encoded, budget.left);
      if (found === undefined)
        throw new RangeError("The bytes are no protobuf message, or one of too many fields.");
      spend(budget, found.length);
      const values = Object.fromEntries(
        Object.entries(fields).map(([name, [, kind]]) => [name, kind.empty()]),
      );
      for (const { field, value } of found) {
        const name = names.get(field);
        if (name !== undefined) values[name] = fields[name]?.[1].read(value, values[name], budget);
      }
      return values as ValuesOf<F>;
    },
  };
}

export const text: Kind<string> = {
  empty: () => "",
  read: (raw) => bytesOf(raw).toString("utf8"),
  write: (field, value) => (value === "" ? [] : [bytes(field, value)]),
};

export const data: Kind<Buffer> = {
  empty: () => Buffer.alloc(0),
  read: bytesOf,
  write: (field, value) => (value.length === 0 ? [] : [bytes(field, value)]),
};

export const integer: Kind<number> = {
  empty: () => 0,
  read: integerOf,
  write: (field, value) => (value === 0 ? [] : [varint(field, value)]),
};

export const flag: Kind<boolean> = {
  empty: () => false,
  read: (raw) => integerOf(raw) !== 0,
  write: (field, value) => (value ? [varint(field, 1)] : []),
};

export const number: Kind<number> = {
  empty: () => 0,
  read: (raw) => doubleOf(bytesOf(raw)),
  write: (field, value) => [double(field, value)],
};

/** Repeated integers, in one field or in one each. */
export const integers: Kind<readonly number[]> = {
  empty: () => [],
  read: (raw, before, budget) => {
    if (typeof raw === "bigint") (before as number[]).push(integerOf(raw));
    else unpack(raw, before as number[], budget);
    return before;
  },
  write: (field, value) => value.map((each) => varint(field, each)),
};

/** Present or not: a member of a `oneof`, an optional message. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    empty: () => undefined,
    read: (raw, _, budget) => kind.read(raw, kind.empty(), budget),
    write: (field, value) => {
      if (value === undefined) return [];
      const written = kind.write(field, value);
      return written.length > 0 ? written : [bytes(field, "")];
    },
  };
}

export function nested<T>(inner: Message<T>): Kind<T> {
  return {
    empty: () => inner.decode(Buffer.alloc(0)),
    read: (raw, _, budget) => inner.decode(bytesOf(raw), budget),
    write: (field, value) => [bytes(field, inner.encode(value))],
  };
}

export function repeated<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    empty: () => [],
    read: (raw, before, budget) => {
      (before as T[]).push(kind.read(raw, kind.empty(), budget));
      return before;
    },
    write: (field, value) => value.flatMap((each) => kind.write(field, each)),
  };
}

/** A map from texts: repeated messages of a key and a value. */
export function mapOf<T>(kind: Kind<T>): Kind<Readonly<Record<string, T>>> {
  const entry = message({ key: [1, text], value: [2, kind as Kind<unknown>] });
  return {
    empty: () => ({}),
    read: (raw, before, budget) => {
      const { key, value } = entry.decode(bytesOf(raw), budget);
      // Also of `__proto__`, which an assignment would take for something else.
      return Object.defineProperty(before, key, {
        value,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    },
    write: (field, value) =>
      Object.entries(value).map(([key, each]) => bytes(field, entry.encode({ key, value: each }))),
  };
}

function bytesOf(raw: Raw): Buffer {
  if (typeof raw === "bigint") throw new RangeError("A field holds a number; expected bytes.");
  return raw;
}

function integerOf(raw: Raw): number {
  if (typeof raw !== "bigint") throw new RangeError("A field holds bytes; expected a whole number.");
  return Number(BigInt.asIntN(64, raw));
}

function doubleOf(raw: Buffer): number {
  if (raw.length !== 8) throw new RangeError("A field is no double.");
  return raw.readDoubleLE(0);
}

function unpack(raw: Buffer, found: number[], budget: Budget): void {
  let value = 0n;
  let shift = 0n;
  for (const byte of raw) {
    if (shift > 63n) throw new RangeError("A number has more than 64 bits.");
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    spend(budget, 1);
    found.push(integerOf(value));
    [value, shift] = [0n, 0n];
  }
}

function spend(budget: Budget, count: number): void {
  budget.left -= count;
  if (budget.left < 0) throw new RangeError("The message has too many fields and numbers.");
}
