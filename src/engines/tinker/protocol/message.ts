/** Protobuf messages as tables of fields, with their types inferred. Unknown fields are skipped. */
import { bytes, decode, double, varint, type Field } from "../../../protobuf.ts";

/** What was read of a field: a varint, or the bytes of anything else. */
type Raw = bigint | Buffer;

export interface Kind<T> {
  /** The value of an absent field. */
  empty(): T;
  read(raw: Raw, before: T): T;
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
  decode(encoded: Buffer): T;
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
    decode: (encoded) => {
      const found = decode(encoded);
      if (found === undefined) throw new RangeError("The bytes are no protobuf message.");
      const values = Object.fromEntries(
        Object.entries(fields).map(([name, [, kind]]) => [name, kind.empty()]),
      );
      for (const { field, value } of found) {
        const name = names.get(field);
        if (name !== undefined) values[name] = fields[name]?.[1].read(value, values[name]);
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
  read: (raw, before) => [...before, ...(typeof raw === "bigint" ? [integerOf(raw)] : unpacked(raw))],
  write: (field, value) => value.map((each) => varint(field, each)),
};

/** Present or not: a member of a `oneof`, an optional message. */
export function optional<T>(kind: Kind<T>): Kind<T | undefined> {
  return {
    empty: () => undefined,
    read: (raw) => kind.read(raw, kind.empty()),
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
    read: (raw) => inner.decode(bytesOf(raw)),
    write: (field, value) => [bytes(field, inner.encode(value))],
  };
}

export function repeated<T>(kind: Kind<T>): Kind<readonly T[]> {
  return {
    empty: () => [],
    read: (raw, before) => {
      (before as T[]).push(kind.read(raw, kind.empty()));
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
    read: (raw, before) => {
      const { key, value } = entry.decode(bytesOf(raw));
      return Object.assign(before as Record<string, T>, { [key]: value as T });
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

function unpacked(raw: Buffer): number[] {
  const found: number[] = [];
  let value = 0n;
  let shift = 0n;
  for (const byte of raw) {
    value |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte >= 128) continue;
    found.push(integerOf(value));
    [value, shift] = [0n, 0n];
  }
  return found;
}
