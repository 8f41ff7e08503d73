/** Reads answers: their JSON, and what failed. */
import { z } from "zod";
import { ServiceError, TroupeError, type ErrorCode } from "../../../errors.ts";
import type { failed } from "../protocol/schema.ts";

const codes: ReadonlySet<string> = new Set<ErrorCode>([
  "bad_arguments",
  "bad_model",
  "bad_shape",
  "bad_token",
  "bad_run",
  "too_long",
  "no_memory",
  "unsupported",
  "cancelled",
]);

/** @throws ServiceError if it is no JSON of this form */
export function parsed<T>(schema: z.ZodType<T>, incoming: Incoming, what: string): T {
  const found = schema.safeParse(jsonOf(incoming));
  if (found.success) return found.data;
  throw new ServiceError(`The server's answer to ${what} is not understood: ${z.prettifyError(found.error)}`);
}

/** What `decode` reads of an answer in protobuf. @throws ServiceError if it is damaged */
export function understood<T>(what: string, decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError(`The server's answer to ${what} is not understood: ${why}`, { cause });
  }
}

/** Undefined: it is no JSON. */
export function jsonOf({ body }: Incoming): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Worth another try: the server is busy, or something between did not deliver. */
export function isTransient(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/**
 * A conflict with another request, which may be over soon: servers that keep their state in a database have such.
 * Troupe's names a code if it never will be.
 */
export function isConflict(incoming: Incoming): boolean {
  const { code } = (jsonOf(incoming) ?? {}) as { readonly code?: unknown };
  return incoming.status === 409 && code === undefined;
}

const keyHint =
  "Recipes take the key from the environment variable TINKER_API_KEY, or the one that engine.keyVariable names; programs give it as the option `key`.";

/** The error of a rejected request. */
export function rejectionOf(incoming: Incoming, what: string): TroupeError {
  const { status } = incoming;
  const { detail, code } = (jsonOf(incoming) ?? {}) as { readonly detail?: unknown; readonly code?: unknown };
  const text = typeof detail === "string" ? detail : incoming.body.subarray(0, 500).toString("utf8");
  const message = `The server rejected ${what} (HTTP ${status}): ${text}`;
  if (typeof code === "string" && codes.has(code)) return new TroupeError(code as ErrorCode, text);
  if (status >= 300 && status < 400) return redirection(incoming, what);
  if (status === 401 || status === 403) return new TroupeError("bad_arguments", `${message} ${keyHint}`);
  if (status === 402 || status === 404 || status === 409 || status === 410 || isTransient(status))
    return new ServiceError(message);
  return new TroupeError("bad_arguments", message);
}

/** Not followed: another server would get the key. */
function redirection({ status, location }: Incoming, what: string): ServiceError {
  const to = location === undefined ? "another address" : JSON.stringify(location.slice(0, 300));
  return new ServiceError(
    `The server redirects ${what} to ${to} (HTTP ${status}). If that is the server, give its address as engine.url, without /api/v1.`,
  );
}

/** The server may have the request, and did not say what became of it. */
export class Unsettled extends TroupeError {}

/** The error where not the request was rejected, but asking for its result, or sending it again: by a key that is no longer valid. */
export function unsettled(rejection: TroupeError): TroupeError {
  return rejection instanceof ServiceError ? rejection : new Unsettled(rejection.code, rejection.message);
}

/** The error of a failed future. */
export function failureOf({ error, category, code }: z.output<typeof failed>): TroupeError {
  if (code !== undefined && codes.has(code)) return new TroupeError(code as ErrorCode, error);
  return category === "user" ? new TroupeError("bad_arguments", error) : new ServiceError(error);
}

/** An answer of the server. */
export interface Incoming {
  readonly status: number;
  readonly isProto: boolean;
  readonly body: Buffer;
  /** Where it is redirected to. */
  readonly location?: string | undefined;
}
