/** The parts of the protobuf wire format that event files, OTLP and the Tinker protocol need. Source: protobuf.dev, "Encoding". */

export type Field = readonly Buffer[];

const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

export function varint(field: number, value: number | bigint): Field {
  return [tag(field, wireTypes.varint), unsigned(BigInt.asUintN(64, BigInt(value)))];
}

export function double(field: number, value: number): Field {
  const contents = Buffer.alloc(8);
  contents.writeDoubleLE(value);
  return [tag(field, wireTypes.fixed64), contents];
}

export function fixed64(field: number, value: bigint): Field {
  const contents = Buffer.alloc(8);
  contents.writeBigUInt64LE(value);
  return [tag(field, wireTypes.fixed64), contents];
}

export function float(field: number, value: number): Field {
  const contents = Buffer.alloc(4);
  contents.writeFloatLE(value);
  return [tag(field, wireTypes.fixed32), contents];
}

/** Text is written as UTF-8; a lone surrogate, which that cannot express, becomes U+FFFD. */
export function bytes(field: number, value: string | Buffer): Field {
  const contents = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  return [tag(field, wireTypes.bytes), unsigned(BigInt(contents.length)), contents];
}

export function message(field: number, ...fields: readonly Field[]): Field {
  return bytes(field, encode(fields));
}

export function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.flat());
}

function tag(field: number, wireType: number): Buffer {
  return unsigned(BigInt(field * 8 + wireType));
}

function unsigned(value: bigint): Buffer {
  const groups: number[] = [];
  let rest = value;
  for (; rest > 127n; rest >>= 7n) groups.push(Number(rest & 127n) | 128);
  return Buffer.from([...groups, Number(rest)]);
}

export interface ReadField {
  readonly field: number;
  readonly value: bigint | Buffer;
}

/**
 * The fields of a message in order; fixed-size values as their bytes. Undefined: the bytes are no message, or one with
 * more than `most` fields.
 */
export function decode(given: Buffer, most = Infinity): readonly ReadField[] | undefined {
  const fields: ReadField[] = [];
  let at = 0;
  const read = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = given[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < given.length) {
    if (fields.length >= most) return undefined;
    const head = Number(read());
    const wireType = head & 7;
    if (wireType === wireTypes.varint) fields.push({ field: head >> 3, value: read() });
    else {
      const length = { 1: 8, 2: -1, 5: 4 }[wireType];
      if (length === undefined) return undefined;
      const size = length === -1 ? Number(read()) : length;
      fields.push({ field: head >> 3, value: given.subarray(at, at + size) });
      at += size;
    }
  }
  return at === given.length ? fields : undefined;
}
