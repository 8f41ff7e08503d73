/**
 * Reads the safetensors format (huggingface/safetensors): eight bytes with the length of a JSON header, the header, the
 * data. A file is accepted only if the header describes every byte of the data exactly once. Anything else is
 * `bad_model`, with the file and the tensor; nothing is allocated before the sizes are checked against the file's.
 */
import { open, type FileHandle } from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { checkRegular } from "../text/files.ts";
import { bytesPerWeight, widen, type WeightFormat } from "./float-formats.ts";

/** A tensor's name and shape in files. */
export interface TensorInfo {
  /** The name in Hugging Face's files (for adapters, PEFT's). */
  readonly name: string;
  readonly shape: readonly number[];
}

export interface StoredTensor {
  readonly name: string;
  /** As in the file; only F32, BF16 and F16 can be read. */
  readonly format: string;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly begin: number;
  readonly end: number;
}

export interface SafetensorsFile {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** As in the reference implementation: no model has a longer header. */
const longestHeader = 100_000_000;

const bytesPerElement: Readonly<Record<string, number>> = {
  ...bytesPerWeight,
  F64: 8,
  I64: 8,
  U64: 8,
  I32: 4,
  U32: 4,
  I16: 2,
  U16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
};

/** Bytes read at once: few enough that widening them does not block the event loop. */
const pieceBytes = 4 * 2 ** 20;

/** Reads and checks the header. */
export async function openSafetensors(path: string): Promise<SafetensorsFile> {
  return withFile(path, async (handle) => {
    const size = (await handle.stat()).size;
    const { header, dataBegin } = await readHeader(path, handle, size);
    const { __metadata__: metadata = {}, ...entries } = header;
    const tensors = Object.entries(entries).map(([name, entry]) =>
      storedTensor(path, name, entry, dataBegin),
    );
    checkCoverage(path, tensors, dataBegin, size);
    return {
      path,
      tensors: new Map(tensors.map((tensor) => [tensor.name, tensor])),
      metadata: texts(path, metadata),
    };
  });
}

/** The tensor as float32. */
export async function readTensor(file: SafetensorsFile, name: string): Promise<Float32Array> {
  const tensor = file.tensors.get(name);
  if (tensor === undefined) throw damaged(file.path, `has no tensor ${name}`);
  const format = weightFormat(file.path, tensor);
  const values = new Float32Array((tensor.end - tensor.begin) / bytesPerWeight[format]);
  await withFile(file.path, async (handle) => {
    const piece = new Uint8Array(Math.min(pieceBytes, tensor.end - tensor.begin));
    for (let at = tensor.begin; at < tensor.end; at += piece.length) {
      const bytes = piece.subarray(0, Math.min(piece.length, tensor.end - at));
      await readExactly(file.path, handle, bytes, at);
      const first = (at - tensor.begin) / bytesPerWeight[format];
      widen(format, bytes, values.subarray(first, first + bytes.length / bytesPerWeight[format]));
    }
  });
  return values;
}

/** The tensor's format if it is a supported one. */
export function weightFormat(path: string, tensor: StoredTensor): WeightFormat {
  if (tensor.format in bytesPerWeight) return tensor.format as WeightFormat;
  const known = Object.keys(bytesPerWeight).join(", ");
  throw damaged(path, `tensor ${tensor.name} has the dtype ${tensor.format}; expected one of ${known}`);
}

async function readHeader(
  path: string,
  handle: FileHandle,
  size: number,
): Promise<{ header: Record<string, unknown>; dataBegin: number }> {
  if (size < 8) throw damaged(path, `holds ${size} bytes; a safetensors file has at least 8`);
  const prefix = new Uint8Array(8);
  await readExactly(path, handle, prefix, 0);
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  if (length > BigInt(longestHeader))
    throw damaged(path, `declares a header of ${length} bytes, which is too long`);
  const dataBegin = 8 + Number(length);
  if (dataBegin > size)
    throw damaged(path, `ends inside its header (${size} of ${dataBegin} bytes); copy it again`);
  const text = new Uint8Array(dataBegin - 8);
  await readExactly(path, handle, text, 8);
  return { header: parseHeader(path, text), dataBegin };
}

function parseHeader(path: string, bytes: Uint8Array): Record<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw damaged(path, "has a header that is not JSON", cause);
  }
  if (!isRecord(header)) throw damaged(path, "has a header that is not a JSON object");
  return header;
}

function storedTensor(path: string, name: string, entry: unknown, dataBegin: number): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
  if (typeof dtype !== "string" || !isSizes(shape) || !isSizes(offsets) || offsets.length !== 2) {
    throw damaged(path, `tensor ${name} lacks a usable dtype, shape or data_offsets in the header`);
  }
  const [first, last] = offsets as [number, number];
  const elementBytes = Object.hasOwn(bytesPerElement, dtype) ? bytesPerElement[dtype] : undefined;
  if (elementBytes === undefined) throw damaged(path, `tensor ${name} has the unknown dtype ${dtype}`);
  const bytes = shape.reduce((product, size) => product * size, elementBytes);
  if (last - first !== bytes) {
    const found = `${last - first} bytes of data`;
    throw damaged(
      path,
      `tensor ${name} of shape [${shape.join(", ")}] in ${dtype} needs ${bytes} bytes, it has ${found}`,
    );
  }
  return { name, format: dtype, shape, begin: dataBegin + first, end: dataBegin + last };
}

/** Tensors must follow each other without gaps or overlaps, up to the end of the file. */
function checkCoverage(
  path: string,
  tensors: readonly StoredTensor[],
  dataBegin: number,
  size: number,
): void {
  let at = dataBegin;
  for (const tensor of tensors.toSorted((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (tensor.begin < at) throw damaged(path, `tensor ${tensor.name} overlaps the one before it`);
    if (tensor.begin > at) throw damaged(path, `there is a gap before tensor ${tensor.name}`);
    if (tensor.end > size)
      throw damaged(path, `ends inside tensor ${tensor.name} (the file has ${size} bytes); copy it again`);
    at = tensor.end;
  }
  if (at !== size) throw damaged(path, `has ${size - at} extra bytes after its last tensor`);
}

function texts(path: string, metadata: unknown): Record<string, string> {
  if (!isRecord(metadata) || !Object.values(metadata).every((value) => typeof value === "string")) {
    throw damaged(path, "has __metadata__ that is not a map of strings");
  }
  return metadata as Record<string, string>;
}

async function withFile<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  checkRegular(path);
  const handle = await open(path, "r").catch((cause: unknown) => {
    throw damaged(path, `cannot be opened (${String(cause)})`, cause);
  });
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}

async function readExactly(
  path: string,
  handle: FileHandle,
  to: Uint8Array,
  position: number,
): Promise<void> {
  for (let filled = 0; filled < to.length;) {
    const { bytesRead } = await handle
      .read(to, filled, to.length - filled, position + filled)
      .catch((cause: unknown) => {
        throw damaged(path, `cannot be read (${String(cause)})`, cause);
      });
    if (bytesRead === 0) throw damaged(path, `ended at byte ${position + filled} while it was read`);
    filled += bytesRead;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSizes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((size) => Number.isSafeInteger(size) && size >= 0);
}

function damaged(path: string, what: string, cause?: unknown): TroupeError {
  return new TroupeError("bad_model", `${path} ${what}.`, cause === undefined ? undefined : { cause });
}
