/** A request after its headers and body were read, and how it is rejected. */
import { z } from "zod";
import { TroupeError, type ErrorCode } from "../../../errors.ts";
import type { failed } from "../protocol/schema.ts";

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

/** A request that is rejected with this status. */
export class Rejection extends Error {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, detail: string, more: Readonly<Record<string, unknown>> = {}) {
    super(detail);
    this.status = status;
    this.body = { detail, ...more };
  }
}

const ofUser: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "bad_arguments",
  "bad_model",
  "bad_shape",
  "bad_token",
  "too_long",
  "unsupported",
  "cancelled",
]);

/** The result of a failed future. */
export function failureOf(error: unknown): z.input<typeof failed> {
  if (error instanceof Rejection) {
    const { code = error.status < 500 ? "bad_arguments" : "internal" } = error.body;
    const category = error.status < 500 ? "user" : "server";
    return { error: error.message, category, code: String(code) };
  }
  const code = error instanceof TroupeError ? error.code : "internal";
  const message = error instanceof Error ? error.message : String(error);
  return { error: message, category: ofUser.has(code) ? "user" : "server", code };
}

/** Anything thrown while a request was read. */
export function asRejection(error: unknown): Rejection {
  if (error instanceof Rejection) return error;
  if (error instanceof z.ZodError) return new Rejection(422, z.prettifyError(error));
  if (error instanceof SyntaxError || error instanceof RangeError || error instanceof URIError)
    return new Rejection(400, error.message);
  if (error instanceof TroupeError)
    return new Rejection(ofUser.has(error.code) ? 422 : 500, error.message, { code: error.code });
  return new Rejection(500, "The server failed; its log says why.");
}

const most = 1000;
const whole = z.coerce.number().pipe(z.int().min(0));

interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: { readonly offset: number; readonly limit: number; readonly total_count: number };
}

/** The part that the query asks for with `limit` and `offset`. */
export function pageOf<T>({ query }: Call, all: readonly T[], standard: number): Page<T> {
  const limit = Math.min(whole.parse(query.get("limit") ?? standard), most);
  const offset = whole.parse(query.get("offset") ?? 0);
  return { items: all.slice(offset, offset + limit), cursor: { offset, limit, total_count: all.length } };
}
