/** Arrays of numbers as bytes and back. All numbers are little-endian, as on every processor that the engine supports. */
import { TroupeError } from "../../../errors.ts";
import { dataType } from "./schema.ts";

/** `int64` holds token ids and counts: 32 bits suffice. */
export type TensorValues = Float32Array | Int32Array;

export interface Tensor {
  readonly values: TensorValues;
  readonly shape: readonly number[];
}

export function bytesOfArray(array: Float32Array | Int32Array | BigInt64Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

export function floatsOf(bytes: Buffer): Float32Array {
  return new Float32Array(aligned(bytes, 4));
}

export function int32sOf(bytes: Buffer): Int32Array {
  return new Int32Array(aligned(bytes, 4));
}

export function int64sOf(bytes: Buffer): number[] {
  return Array.from(new BigInt64Array(aligned(bytes, 8)), Number);
}

export function int64Bytes(values: ArrayLike<number>): Buffer {
  return bytesOfArray(BigInt64Array.from(values, (value) => BigInt(value)));
}

/** Numbers of any width as float32 or int32. @throws TroupeError `bad_arguments` */
export function valuesOf(bytes: Buffer, dtype: number): TensorValues {
  switch (dtype) {
    case dataType.float32:
      return floatsOf(bytes);
    case dataType.int32:
      return int32sOf(bytes);
    case dataType.int64:
      return asInt32(int64sOf(bytes));
    case dataType.bfloat16:
      return fromBfloat16(bytes);
    default:
      throw new TroupeError("bad_arguments", `A tensor has the data type ${dtype}; expected 1 to 4.`);
  }
}

/** @throws TroupeError `bad_token` for what is no 32-bit whole number: token ids and counts are */
export function asInt32(values: readonly number[]): Int32Array {
  const array = Int32Array.from(values);
  const bad = values.findIndex((value, index) => array[index] !== value);
  if (bad !== -1) throw new TroupeError("bad_token", `${values[bad]} is no 32-bit whole number.`);
  return array;
}

/** The upper half of a float32. */
function fromBfloat16(bytes: Buffer): Float32Array {
  const halves = new Uint16Array(aligned(bytes, 2));
  const whole = Uint32Array.from(halves, (half) => (half << 16) >>> 0);
  return new Float32Array(whole.buffer);
}

/** A copy that starts at an aligned address and belongs to nobody else. */
function aligned(bytes: Buffer, width: number): ArrayBuffer {
  if (bytes.length % width !== 0)
    throw new TroupeError("bad_shape", `${bytes.length} bytes are no array of numbers of ${width} bytes.`);
  return new Uint8Array(bytes).buffer;
}
