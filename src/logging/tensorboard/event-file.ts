/**
 * TensorBoard's event files: TFRecord frames of `Event` messages.
 * Sources: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto, framework/summary.proto.
 */
import type { Point } from "../points.ts";
import { bytes, double, encode, type Field, float, message, varint } from "../../protobuf.ts";

/** `SessionLog.START`: a reader that has points of these steps from an earlier file drops them. */
const sessionStart = 1;

/** The whole file; more points only append to it. */
export function eventFile(started: number, points: readonly Point[]): Buffer {
  return Buffer.concat([
    frame(event(started, bytes(3, "brain.Event:2"))),
    frame(event(started, message(7, varint(1, sessionStart)))),
    ...points.map((point) => frame(event(point.time, varint(2, point.step), message(5, ...summary(point))))),
  ]);
}

function event(time: number, ...fields: readonly Field[]): Buffer {
  return encode([double(1, time / 1000), ...fields]);
}

function summary({ values }: Point): readonly Field[] {
  return [...values].map(([name, value]) => message(1, bytes(1, name), float(2, value)));
}

/** Length, its checksum, the data, their checksum. */
function frame(data: Buffer): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(data.length));
  return Buffer.concat([length, checksum(length), data, checksum(data)]);
}

function checksum(data: Buffer): Buffer {
  const written = Buffer.alloc(4);
  written.writeUInt32LE(masked(crc32c(data)));
  return written;
}

/** Rotated, plus a constant: checksums of data that contain checksums would be weak. */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

/** CRC-32C (Castagnoli), RFC 3720, appendix B.4. */
export function crc32c(data: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of data) crc = (table[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) * 0x82f63b78);
  return crc;
});
