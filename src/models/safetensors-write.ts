/** Writes safetensors files tensor by tensor, so that at most one tensor is in memory besides the engine's. */
import { randomBytes } from "node:crypto";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { TroupeError } from "../errors.ts";
import { syncPath, temporaryPrefix, writing } from "../runs/durable.ts";
import { bytesPerWeight, fits, narrow, type WeightFormat } from "./float-formats.ts";

export interface TensorToWrite {
  readonly name: string;
  readonly shape: readonly number[];
  /** Called once, in the order of the list. */
  readonly values: () => Promise<Float32Array> | Float32Array;
}

export interface WriteOptions {
  readonly format?: WeightFormat;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Weights narrowed per piece, so that the event loop is not blocked. */
const pieceWeights = 2 ** 20;

/** Writes the file in place. Use `writeSafetensorsDurably` for a file that others may read at any time. */
export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  options: WriteOptions = {},
): Promise<void> {
  const format = options.format ?? "F32";
  if (!Object.hasOwn(bytesPerWeight, format)) {
    const known = Object.keys(bytesPerWeight).join(", ");
    throw new TroupeError(
      "bad_arguments",
      `The format of weights is ${JSON.stringify(format)}; expected one of ${known}.`,
    );
  }
  await writing(path, async () => {
    const handle = await open(path, "w");
    try {
      await writeFully(handle, headerBytes(tensors, format, options.metadata ?? {}));
      for (const tensor of tensors)
        await writeTensor(handle, tensor, (piece) => encode(tensor, piece, format));
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

/** Writes the file atomically. */
export async function writeSafetensorsDurably(
  path: string,
  tensors: readonly TensorToWrite[],
  options: WriteOptions = {},
): Promise<void> {
  const suffix = randomBytes(4).toString("hex");
  const temporary = join(dirname(path), `${temporaryPrefix}${basename(path)}-${suffix}`);
  try {
    await writeSafetensors(temporary, tensors, options);
    await writing(path, async () => {
      await rename(temporary, path);
      await syncPath(dirname(path));
    });
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function headerBytes(
  tensors: readonly TensorToWrite[],
  format: WeightFormat,
  metadata: Readonly<Record<string, string>>,
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let at = 0;
  for (const { name, shape } of tensors) {
    const end = at + elements(shape) * bytesPerWeight[format];
    header[name] = { dtype: format, shape, data_offsets: [at, end] };
    at = end;
  }
  const text = JSON.stringify(header);
  const length = Buffer.byteLength(text);
  const padded = Math.ceil(length / 8) * 8; // the format aligns the data to 8 bytes, with spaces
  const bytes = Buffer.alloc(8 + padded, " ");
  bytes.writeBigUInt64LE(BigInt(padded), 0);
  bytes.write(text, 8);
  return bytes;
}

/** Writes a tensor's values piece by piece, as `convert` makes them; a piece is a whole number of 2²⁰ values or the last. */
export async function writeTensor(
  handle: FileHandle,
  tensor: TensorToWrite,
  convert: (piece: Float32Array) => Uint8Array,
): Promise<void> {
  const values = await tensor.values();
  if (values.length !== elements(tensor.shape)) {
    throw new TroupeError(
      "internal",
      `${tensor.name}: ${values.length} values for the shape [${tensor.shape.join(", ")}].`,
    );
  }
  for (let at = 0; at < values.length; at += pieceWeights)
    await writeFully(handle, convert(values.subarray(at, at + pieceWeights)));
}

/** Little-endian bytes. @throws TroupeError `bad_arguments` for weights beyond the format's range */
export function encode({ name }: TensorToWrite, piece: Float32Array, format: WeightFormat): Uint8Array {
  if (fits(format, piece)) return narrow(format, piece);
  throw new TroupeError(
    "bad_arguments",
    `${name} has weights that are too large for ${format}. Save in F32 or BF16.`,
  );
}

export async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at, bytes.length - at)).bytesWritten;
}

export function elements(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
