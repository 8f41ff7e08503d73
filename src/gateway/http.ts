/** What the servers of this folder have in common: protocols by path, bounded bodies, answers whole or as streams. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { wholeBody, TooLongError } from "../calls/http.ts";
import { notTooDeep, type Asked, type Event, type Protocol } from "./asked.ts";
import { chatCompletions } from "./chat.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import { BadRequest, type RoleReply } from "./roles.ts";

/** By the last parts of the path. */
const protocols: Readonly<Record<string, Protocol>> = {
  "chat/completions": chatCompletions,
  responses,
  messages,
};

/** @param rest of the path, after `/v1/` */
export function protocolAt(rest: string): Protocol | undefined {
  return Object.hasOwn(protocols, rest) ? protocols[rest] : undefined;
}

/** A stream that waits says so, in milliseconds. */
const keepAlive = 3000;

/**
 * @param longest in bytes
 * @param heard called for each part, with all bytes so far; may throw
 * @throws BadRequest if it is too long, or encoded
 */
export async function bodyOf(
  request: IncomingMessage,
  longest: number,
  heard?: (bytes: number) => void,
): Promise<Buffer> {
  const { "content-encoding": encoding = "identity" } = request.headers;
  if (encoding.toLowerCase() !== "identity") {
    request.resume();
    throw new BadRequest(`The request is encoded as ${encoding}; send it as it is.`, {
      status: 415,
      code: "unsupported_encoding",
    });
  }
  try {
    return await wholeBody(request.iterator({ destroyOnReturn: false }), longest, heard);
  } catch (error) {
    request.resume();
    if (!(error instanceof TooLongError)) throw error;
    throw new BadRequest(`The request has ${error.message}.`, { status: 413, code: "too_large" });
  }
}

/** Bytes that are no text must not become another text. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** @throws BadRequest */
export function jsonIn(body: Buffer): unknown {
  try {
    return notTooDeep(JSON.parse(utf8.decode(body)));
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    throw new BadRequest(`The body is not JSON: ${(error as Error).message}`);
  }
}

const clientErrors: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** What is no HTTP, or does not end, gets an answer that clients can read, too. */
export function answerMalformed({ code = "", message }: NodeJS.ErrnoException, socket: Duplex): void {
  if (code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const problem = new BadRequest(`The request is no proper HTTP: ${message}`);
  const body = Buffer.from(JSON.stringify(chatCompletions.error(problem)));
  const head = [
    `HTTP/1.1 ${clientErrors[code] ?? "400 Bad Request"}`,
    "connection: close",
    "content-type: application/json",
    `content-length: ${body.length}`,
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]), () => socket.destroy());
}

export interface Answering {
  readonly protocol: Protocol;
  readonly asked: Asked;
  readonly answer: Promise<readonly RoleReply[]>;
  /** The error as the program sees it. */
  readonly problemOf: (error: unknown) => BadRequest;
}

/** Sends the answer as it was asked for. @throws what `answer` is rejected with, unless a stream has begun */
export async function sendAnswer(response: ServerResponse, answering: Answering): Promise<void> {
  const { protocol, asked, answer } = answering;
  if (asked.isStreamed) await stream(response, answering);
  else send(response, 200, protocol.answer(asked, await answer));
}

async function stream(
  response: ServerResponse,
  { protocol, asked, answer, problemOf }: Answering,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
  const timer = setInterval(() => response.write(": the role is still writing\n\n"), keepAlive);
  try {
    const replies = await answer;
    response.end(protocol.events(asked, replies).map(eventText).join(""));
  } catch (error) {
    response.end(eventText({ name: "error", data: protocol.error(problemOf(error)) }));
  } finally {
    clearInterval(timer);
  }
}

function eventText({ name, data }: Event): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

/** An answer that has begun ends in the middle. */
export function sendProblem(
  response: ServerResponse,
  protocol: Protocol | undefined,
  problem: BadRequest,
  headers: Readonly<Record<string, string>>,
): void {
  if (response.headersSent) response.destroy();
  else send(response, problem.status, (protocol ?? chatCompletions).error(problem), headers);
}

export function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": bytes.length,
    ...headers,
  });
  response.end(bytes);
}
