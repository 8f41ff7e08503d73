/** HTTP with limits: no redirects that could carry a key elsewhere, bounded replies, reasons that people understand. */
import { ServiceError } from "../errors.ts";

export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/**
 * One request and its whole reply, whatever its status.
 * @param longest bytes of the reply
 * @throws ServiceError if the server cannot be reached, redirects, breaks off or sends more
 */
export async function exchange(
  url: string | URL,
  init: Omit<RequestInit, "redirect">,
  longest: number,
): Promise<HttpReply> {
  const place = new URL(url).origin;
  const failing = (what: string) => (cause: unknown) => {
    throw new ServiceError(`${place} ${what}: ${reasonOf(cause)}`, { cause });
  };
  const response = await fetch(url, { ...init, redirect: "error" }).catch(failing("cannot be reached"));
  const body = await boundedBody(response, longest).catch(failing("broke off its answer"));
  return { status: response.status, headers: response.headers, body };
}

/** @throws Error if it breaks off or is longer */
export async function boundedBody(response: Response, longest: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > longest) throw new Error(`more than ${longest} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A service that asks for longer is asked again all the same. Milliseconds. */
const longestWait = 600_000;

/**
 * Milliseconds in which a service asks not to be asked again; null: it does not say. The header has seconds, or a date;
 * OpenAI also has one with milliseconds.
 */
export function retryAfterOf(headers: Headers): number | null {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  const wait = exact >= 0 ? exact : waitIn(headers.get("retry-after") ?? "");
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), longestWait);
}

function waitIn(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return 1000 * Number(text);
  // `Date.parse` alone would read a negative number as a year.
  return /^[A-Z][a-z]+, /.test(text) ? Date.parse(text) - Date.now() : Number.NaN;
}

/** `fetch failed` has the reason in its cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "it did not answer in time";
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? cause.message : error.message;
}
