/** What the servers of this folder have in common: protocols by path, bounded bodies, answers whole or as streams. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { wholeBody, TooLongError } from "../calls/http.ts";
import { notTooDeep, type Asked, type Event, type Protocol } from "./asked.ts";
import { chatCompletions } from "./chat.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import { BadRequest, type RoleReply } from "./session.ts";

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
 * @throws BadRequest if it is too long
 */
export async function bodyOf(
  request: IncomingMessage,
  longest: number,
  heard?: (bytes: number) => void,
): Promise<Buffer> {
  try {
    return await wholeBody(request.iterator({ destroyOnReturn: false }), longest, heard);
  } catch (error) {
    request.resume();
    if (!(error instanceof TooLongError)) throw error;
    throw new BadRequest(`The request has ${error.message}.`, { status: 413, code: "too_large" });
  }
}

/** @throws BadRequest */
export function jsonIn(body: Buffer): unknown {
  try {
    return notTooDeep(JSON.parse(body.toString("utf8")));
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    throw new BadRequest(`The body is not JSON: ${(error as Error).message}`);
  }
}

export interface Answering {
  readonly protocol: Protocol;
  readonly asked: Asked;
  readonly answer: Promise<readonly RoleReply[]>;
  /** What the program is told of an error. */
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
