/** HTTP with limits: no redirects that could carry a key elsewhere, bounded replies, reasons that people understand. */
import { request as overHttp, type IncomingMessage } from "node:http";
import { request as overHttps } from "node:https";
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
  const body = await wholeBody(response.body, longest).catch(failing("broke off its answer"));
  return { status: response.status, headers: response.headers, body };
}

export interface PostOptions {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Posts JSON to whom may take hours to answer, where `fetch` gives up after five minutes. Redirects are not followed.
 * @param longest bytes of the reply
 * @throws ServiceError as `exchange`
 */
export async function postPatiently(
  url: string | URL,
  { body, headers, signal }: PostOptions,
  longest: number,
): Promise<HttpReply> {
  const { origin, protocol } = new URL(url);
  const failing = (what: string) => (cause: unknown) => {
    throw new ServiceError(`${origin} ${what}: ${reasonOf(cause)}`, { cause });
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (protocol === "https:" ? overHttps : overHttp)(url, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body), ...headers },
    signal,
    // A kept connection may be closed by the other side while it is chosen.
    agent: false,
  });
  request.on("response", resolve).on("error", reject);
  request.on("socket", (socket) => socket.setKeepAlive(true, 60_000));
  request.end(body);
  const response = await promise.catch(failing("cannot be asked"));
  const received = await wholeBody(response, longest).catch(failing("broke off its answer"));
  const given = Object.entries(response.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return { status: response.statusCode ?? 0, headers: new Headers(given), body: received };
}

/** The other side sent more than was allowed. */
export class TooLongError extends Error {}

/** The whole of what comes, null: nothing. @throws TooLongError; Error if it breaks off */
export async function wholeBody(
  parts: AsyncIterable<Uint8Array> | null,
  longest: number,
  heard?: (bytes: number) => void,
): Promise<Buffer> {
  const whole: Uint8Array[] = [];
  for await (const part of bounded(parts ?? [], longest, heard)) whole.push(part);
  return Buffer.concat(whole);
}

/**
 * Passes on what comes, up to a limit of bytes.
 * @param heard called for each part, with all bytes so far
 */
export async function* bounded(
  parts: AsyncIterable<Uint8Array> | readonly never[],
  longest: number,
  heard: (bytes: number) => void = () => {},
): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const part of parts) {
    length += part.length;
    heard(length);
    if (length > longest) throw new TooLongError(`more than ${longest} bytes`);
    yield part;
  }
}

/** A service that asks for longer is asked again all the same. Milliseconds. */
const longestWait = 600_000;

/**
 * Milliseconds in which a service asks not to be asked again; null: it does not say. The header has seconds, or a date;
 * OpenAI also has one with milliseconds.
 */
export function retryAfterOf(headers: Headers, longest = longestWait): number | null {
  const exact = Number(headers.get("retry-after-ms") ?? Number.NaN);
  const wait = exact >= 0 ? exact : waitIn(headers.get("retry-after") ?? "");
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), longest);
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
