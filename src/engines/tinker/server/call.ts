/** A request after its headers and body were read. */
import type { Rejection } from "./problems.ts";

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

/** @throws SyntaxError; Rejection if the body is not whole */
export function jsonOf(call: Call): unknown {
  const known = parsed.get(call) ?? JSON.parse(bytesOf(call).toString("utf8"));
  parsed.set(call, known);
  return known;
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
