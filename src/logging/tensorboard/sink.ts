/**
 * Writes a run's points as a TensorBoard event file. The file is a function of the run's records: it is extended while
 * they grow, and replaced if a resumed run repeated steps, so that it never has a step twice.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { ifPresent } from "../../present.ts";
import { bytes, double, encode, float, message, varint, type Field } from "../../protobuf.ts";
import { readClock, readPoints, type Sink, type Point } from "../sink.ts";

const prefix = "events.out.tfevents.";

export function tensorboardSink(directory: string): Sink {
  const folder = path.join(directory, "logging", "tensorboard");
  return { title: "TensorBoard", update: () => write(directory, folder), close: async () => {} };
}

async function write(directory: string, folder: string): Promise<void> {
  await fs.mkdir(folder, { recursive: true });
  const points = await readPoints(directory);
  const { started } = await readClock(directory);
  const wanted = eventFile(started, points);
  const names = (await fs.readdir(folder)).filter((name) => name.startsWith(prefix));
  const numbers = names.map((name) => Number(name.slice(name.lastIndexOf(".") + 1)));
  const last = Math.max(0, ...numbers);
  const file = (number: number) =>
    path.join(folder, `${prefix}${Math.floor(started / 1000)}.troupe.${number}`);
  const present = names.length === 1 ? await ifPresent(file(last), (name) => fs.readFile(name)) : null;
  if (present !== null && isPrefix(present, wanted)) {
    return fs.appendFile(file(last), wanted.subarray(present.length));
  }
  // The steps after the last checkpoint are about to be repeated.
  if (present !== null && isPrefix(wanted, present)) return;
  for (const name of names) await fs.rm(path.join(folder, name));
  await fs.writeFile(file(last + 1), wanted);
}

function isPrefix(part: Buffer, whole: Buffer): boolean {
  return part.length <= whole.length && part.equals(whole.subarray(0, part.length));
}

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
