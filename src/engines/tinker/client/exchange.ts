/** One request and its answer. */
import {
  request as plainRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as secureRequest } from "node:https";
import { TooLongError, wholeBody } from "../../../calls/http.ts";
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
  request.once("response", (response) => void read(response, request).then(done.resolve, fail));
  request.end(body);
  return done.promise;
}

async function read(response: IncomingMessage, request: ClientRequest): Promise<Incoming> {
  try {
    const body = await wholeBody(response, longestAnswer);
    if (!response.complete) throw new Error("the connection broke off");
    const { statusCode: status = 0, headers } = response;
    const isProto = headers["content-type"]?.includes(proto) === true;
    return { status, isProto, body, location: headers.location };
  } catch (error) {
    request.destroy();
    throw error instanceof TooLongError ? new Error(`an answer of ${error.message}`) : error;
  }
}
