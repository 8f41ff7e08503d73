/** Errors of requests, as HTTP answers and as results of futures. */
import { z } from "zod";
import { TroupeError, type ErrorCode } from "../../../errors.ts";
import type { failed } from "../protocol/schema.ts";

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
