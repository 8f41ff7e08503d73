/** A request after its headers and body were read. */
import { Rejection } from "./problems.ts";

export interface Call {
  readonly owner: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Decompressed; only its beginning if there is a problem. */
  readonly body: Buffer;
  readonly isProto: boolean;
  readonly wantsProto: boolean;
  /** Why the body is not whole. */
  readonly problem?: Rejection;
}

const parsed = new WeakMap<Call, unknown>();

/** @throws SyntaxError; Rejection if the body is not whole, or would take many times its size in memory */
export function jsonOf(call: Call): unknown {
  const known = parsed.get(call) ?? readJson(bytesOf(call));
  parsed.set(call, known);
  return known;
}

/** Lists, objects and texts of one body. A request of 16,384 data has a quarter of it. */
const mostValues = 2 ** 21;
const [list, object, quote] = Buffer.from('[{"');

function readJson(bytes: Buffer): unknown {
  let count = 0;
  for (const byte of bytes) if (byte === list || byte === object || byte === quote) count += 1;
  if (count > mostValues)
    throw new Rejection(
      413,
      `The request has ${count} lists, objects and quotation marks; the limit is ${mostValues}. Send smaller chunks.`,
    );
  return JSON.parse(bytes.toString("utf8"));
}

/** What is needed later is parsed again: bytes take less room. */
export function forgetJson(call: Call): void {
  parsed.delete(call);
}

/** @throws Rejection if the body is not whole */
export function bytesOf({ body, problem }: Call): Buffer {
  if (problem !== undefined) throw problem;
  return body;
}
