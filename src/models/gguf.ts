/**
 * Writes GGUF, the file format of llama.cpp and Ollama (ggml-org/ggml, docs/gguf.md): a header with metadata and the
 * tensors' places, then their data, one tensor in memory at a time.
 */
import { open } from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { writing } from "../runs/durable.ts";
import { narrow } from "./float-formats.ts";
import { elements, encode, writeFully, writeTensor, type TensorToWrite } from "./safetensors-write.ts";

/** A number is a uint32; other numbers say their type. */
type GgufValue = string | boolean | number | { readonly float32: number } | readonly string[] | Int32Array;

export type GgufMetadata = readonly (readonly [key: string, value: GgufValue])[];

/** What matrices become. Vectors (norms and biases) are always float32, which llama.cpp's kernels expect. */
export type GgufFormat = "F32" | "BF16" | "Q8_0";

const version = 3;
/** Of the data of each tensor; the format's default. */
const alignment = 32;

const valueTypes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
/** `ggml_type`. */
const tensorTypes: Readonly<Record<GgufFormat, number>> = { F32: 0, Q8_0: 8, BF16: 30 };

/** Q8_0: blocks of 32 weights, each with one scale in float16 and 32 signed bytes. */
const blockWeights = 32;
const blockBytes = 2 + blockWeights;

/** Writes the file in place and flushes it. */
export async function writeGguf(
  path: string,
  metadata: GgufMetadata,
  tensors: readonly TensorToWrite[],
  format: GgufFormat,
): Promise<void> {
  await writing(path, async () => {
    await using handle = await open(path, "w");
    await writeFully(handle, headerBytes(metadata, tensors, format));
    for (const tensor of tensors) {
      const own = formatOf(tensor, format);
      await writeTensor(handle, tensor, (piece) =>
        own === "Q8_0" ? quantise(tensor.name, piece) : encode(tensor, piece, own),
      );
      await writeFully(handle, padding(bytesOf(tensor, own)));
    }
    await handle.sync();
  });
}

/** Rows that are no whole number of blocks cannot be quantised. */
function formatOf({ shape }: TensorToWrite, format: GgufFormat): GgufFormat {
  if (shape.length < 2) return "F32";
  return format === "Q8_0" && (shape.at(-1) ?? 0) % blockWeights !== 0 ? "BF16" : format;
}

function bytesOf({ shape }: TensorToWrite, format: GgufFormat): number {
  const count = elements(shape);
  return format === "Q8_0" ? (count / blockWeights) * blockBytes : count * (format === "F32" ? 4 : 2);
}

function padding(length: number): Uint8Array {
  return new Uint8Array((alignment - (length % alignment)) % alignment);
}

/** Dimensions are in the opposite order: a row's length comes first. */
function headerBytes(
  metadata: GgufMetadata,
  tensors: readonly TensorToWrite[],
  format: GgufFormat,
): Uint8Array {
  const parts: Uint8Array[] = [
    Buffer.from("GGUF"),
    uint32(version),
    uint64(tensors.length),
    uint64(metadata.length),
    ...metadata.flatMap(([key, value]) => [string(key), ...valueBytes(key, value)]),
  ];
  let at = 0;
  for (const tensor of tensors) {
    const own = formatOf(tensor, format);
    const sizes = tensor.shape.toReversed().map(uint64);
    parts.push(string(tensor.name), uint32(sizes.length), ...sizes, uint32(tensorTypes[own]), uint64(at));
    at += bytesOf(tensor, own);
    at += padding(at).length;
  }
  const header = Buffer.concat(parts);
  return Buffer.concat([header, padding(header.length)]);
}

function valueBytes(key: string, value: GgufValue): Uint8Array[] {
  if (typeof value === "string") return [uint32(valueTypes.string), string(value)];
  if (typeof value === "boolean") return [uint32(valueTypes.bool), Uint8Array.of(Number(value))];
  if (typeof value === "number") {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 32)
      return [uint32(valueTypes.uint32), uint32(value)];
    throw new TroupeError("internal", `${key} is ${value}; expected a uint32`);
  }
  if ("float32" in value) return [uint32(valueTypes.float32), narrow("F32", Float32Array.of(value.float32))];
  const [type, bytes] =
    value instanceof Int32Array
      ? ([valueTypes.int32, [new Uint8Array(value.buffer, value.byteOffset, value.byteLength)]] as const)
      : ([valueTypes.string, value.map(string)] as const);
  return [uint32(valueTypes.array), uint32(type), uint64(value.length), ...bytes];
}

function string(text: string): Uint8Array {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/**
 * As `quantize_row_q8_0_ref` of ggml: the scale is the largest magnitude / 127, and a quotient of ½ is rounded away from
 * zero. A scale of zero, also one below float16's range, makes all 32 weights zero.
 */
function quantise(name: string, values: Float32Array): Uint8Array {
  const blocks = values.length / blockWeights;
  const scales = new Float32Array(blocks);
  for (let i = 0; i < values.length; i++) {
    const block = Math.floor(i / blockWeights);
    const magnitude = Math.abs(values[i] as number);
    // A NaN stays: nothing is larger.
    if (magnitude > (scales[block] as number) || Number.isNaN(magnitude)) scales[block] = magnitude;
  }
  for (let block = 0; block < blocks; block++) scales[block] = (scales[block] as number) / 127;
  const stored = new Uint16Array(narrow("F16", scales).buffer);
  if (stored.some((bits) => (bits & 0x7c00) === 0x7c00)) {
    const problem = `${name} has weights that are too large or no numbers`;
    throw new TroupeError("bad_arguments", `${problem}, so it cannot be quantised; use another --dtype`);
  }
  const bytes = new Uint8Array(blocks * blockBytes);
  for (let block = 0; block < blocks; block++) {
    const bits = stored[block] as number;
    const inverse = bits === 0 ? 0 : Math.fround(1 / (scales[block] as number));
    const at = block * blockBytes;
    bytes[at] = bits & 0xff;
    bytes[at + 1] = bits >>> 8;
    for (let k = 0; k < blockWeights; k++)
      bytes[at + 2 + k] = rounded(Math.fround((values[block * blockWeights + k] as number) * inverse));
  }
  return bytes;
}

/** Half away from zero; Math.round rounds -2.5 to -2. */
function rounded(value: number): number {
  return value < 0 ? -Math.floor(0.5 - value) : Math.floor(0.5 + value);
}
