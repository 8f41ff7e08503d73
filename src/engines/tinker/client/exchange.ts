/** One request and its answer. */
import {
  request as plainRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as secureRequest } from "node:https";
import { ServiceError } from "../../../errors.ts";
import type { Incoming } from "./incoming.ts";

/** The server may still be working on it. */
export class LateAnswer extends ServiceError {}

export const proto = "application/x-protobuf";
/** In bytes; no honest answer is near it. */
const longestAnswer = 2 ** 30;

/**
 * The time counts from when a connection is free, so that a full pool is no failure.
 * @param running has the request until it ends
 */
export function exchange(
  url: URL,
  options: RequestOptions,
  body: Buffer | undefined,
  milliseconds: number,
  running: Set<ClientRequest>,
): Promise<Incoming> {
  const done = Promise.withResolvers<Incoming>();
  const fail = (cause: Error, Failure: typeof ServiceError = ServiceError): void =>
    done.reject(new Failure(`${url.origin} cannot be reached: ${cause.message || String(cause)}`, { cause }));
  const request = (url.protocol === "https:" ? secureRequest : plainRequest)(url, options);
  running.add(request);
  request.once("close", () => running.delete(request));
  request.once("socket", () => {
    const late = (): void => {
      fail(new Error(`no answer in ${milliseconds} ms`), LateAnswer);
      request.destroy();
    };
    const timer = setTimeout(late, milliseconds);
    void done.promise.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
  });
  request.once("error", (cause) => fail(cause));
  request.once("response", (response) => read(response, request, done.resolve, fail));
  request.end(body);
  return done.promise;
}

function read(
  response: IncomingMessage,
  request: ClientRequest,
  done: (answer: Incoming) => void,
  fail: (cause: Error) => void,
): void {
  const parts: Buffer[] = [];
  let length = 0;
  response.on("data", (part: Buffer) => {
    length += part.length;
    parts.push(part);
    if (length > longestAnswer) request.destroy(new Error(`an answer of more than ${longestAnswer} bytes`));
  });
  response.once("error", fail);
  response.once("aborted", () => fail(new Error("the connection broke off")));
  response.once("end", () => {
    if (!response.complete) return fail(new Error("the connection broke off"));
    const { statusCode: status = 0, headers } = response;
    const isProto = headers["content-type"]?.includes(proto) === true;
    return done({ status, isProto, body: Buffer.concat(parts), location: headers.location });
  });
}
