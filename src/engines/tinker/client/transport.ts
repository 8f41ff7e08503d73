/**
 * HTTP with pooled, bounded connections: a request waits until one of its pool is free. Pools are separate, so that long
 * polls never hold up a submission, nor either the heartbeat.
 */
import {
  Agent as PlainAgent,
  request as plainRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { z } from "zod";
import { TooLongError, wholeBody } from "../../../calls/http.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import type { ServerSilence } from "../../engine.ts";
import * as schema from "../protocol/schema.ts";
import { parsed, rejectionOf, type Incoming } from "./answers.ts";

export type Pool = "submit" | "poll" | "heartbeat" | "probe";

export interface TransportOptions {
  /** Without `/api/v1`. */
  readonly url: string;
  /** Absent: none is sent. */
  readonly key?: string | undefined;
  /** Connections of the pools of submissions and of polls. Default: 64. */
  readonly connections?: number | undefined;
}

export interface Outgoing {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Below `/api/v1/`. */
  readonly path: string;
  /** An object is sent as JSON, bytes as protobuf. */
  readonly body?: object | Buffer;
  readonly wantsProto?: boolean;
  readonly milliseconds?: number;
  readonly pool?: Pool;
}

const compress = promisify(zstdCompress);
export class Transport {
  readonly #options: TransportOptions;
  readonly #base: URL;
  readonly #agents: Readonly<Record<Pool, PlainAgent | SecureAgent>>;
  #tokens: Tokens | null = null;
  readonly #running = new Set<ClientRequest>();
  readonly contact = new Contact();
  #compresses = false;

  /** @throws TroupeError `bad_arguments` if `url` is no HTTP address */
  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = baseOf(options.url);
    const { connections = 64 } = options;
    const agent = (maxSockets: number) =>
      new (this.#base.protocol === "https:" ? SecureAgent : PlainAgent)({ keepAlive: true, maxSockets });
    this.#agents = {
      submit: agent(connections),
      poll: agent(connections),
      heartbeat: agent(1),
      probe: agent(1),
    };
  }

  get url(): string {
    return this.#options.url;
  }

  /** Protobuf is compressed with zstd from now on. */
  compress(): void {
    this.#compresses = true;
  }

  /** The key is exchanged for tokens from now on. */
  useTokens(): void {
    this.#tokens ??= new Tokens(async () => {
      const request = schema.request("auth/token", {});
      const found = await this.#sendAs(this.#options.key, request);
      if (found.status !== 200) throw rejectionOf(found, request.path);
      return parsed(schema.token, found, request.path).jwt;
    });
  }

  /** @throws ServiceError without an answer */
  async send(outgoing: Outgoing): Promise<Incoming> {
    const tokens = this.#tokens;
    if (tokens === null) return this.#sendAs(this.#options.key, outgoing);
    const used = await tokens.current();
    const found = await this.#sendAs(used, outgoing);
    if (found.status !== 401) return found;
    tokens.reject(used);
    return this.#sendAs(await tokens.current(), outgoing);
  }

  async #sendAs(key: string | undefined, outgoing: Outgoing): Promise<Incoming> {
    const { body } = outgoing;
    const isProto = Buffer.isBuffer(body);
    const bytes = body === undefined || isProto ? body : Buffer.from(JSON.stringify(body));
    const isCompressed = isProto && this.#compresses;
    const sent = isCompressed ? await compress(body) : bytes;
    const headers = {
      ...(bytes === undefined ? {} : { "content-type": isProto ? proto : "application/json" }),
      ...(isCompressed ? { "content-encoding": "zstd" } : {}),
      ...(key === undefined ? {} : { "x-api-key": key }),
      "content-length": sent?.length ?? 0,
      accept: outgoing.wantsProto === true ? proto : "application/json",
    };
    const { method = "POST", pool = "submit", milliseconds = 60_000 } = outgoing;
    const url = new URL(outgoing.path, this.#base);
    const isBeat = pool === "heartbeat" || pool === "probe";
    try {
      const options = { method, headers, agent: this.#agents[pool] };
      const found = await exchange(url, options, sent, milliseconds, this.#running);
      this.contact.heard(found.status, isBeat);
      return found;
    } catch (error) {
      // A long poll that was not answered in time says nothing of the server.
      const isLongPoll = error instanceof LateResponse && pool === "poll";
      if (!isLongPoll && error instanceof ServiceError) this.contact.missed((error.cause as Error).message);
      throw error;
    }
  }

  /** Requests without an answer so far fail. */
  abandon(why: string): void {
    for (const request of this.#running) request.destroy(new Error(why));
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }
}

function baseOf(url: string): URL {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base === null || !["http:", "https:"].includes(base.protocol))
    throw new TroupeError(
      "bad_arguments",
      `The address ${JSON.stringify(url)} is not valid; expected http(s)://HOST:PORT.`,
    );
  return new URL(`${base.href.replace(/\/+$/, "")}/api/v1/`);
}

/** The server may still be working on it. */
export class LateResponse extends ServiceError {}

const proto = "application/x-protobuf";
/** In bytes; far above any valid response. */
const longestAnswer = 2 ** 30;

/**
 * The time counts from when a connection is free, so that a full pool is no failure.
 * @param running has the request until it ends
 */
function exchange(
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
      fail(new Error(`no answer in ${milliseconds} ms`), LateResponse);
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

const claims = z.object({ exp: z.number(), iat: z.number().optional() });
/** Seconds before the end when a token is replaced, unless it lives for less than twice that. */
const lead = 300;

/**
 * Short-lived tokens (JWT) in exchange for a key, as the hosted service asks for: requests carry the token, which is
 * replaced before it expires, or when it is rejected.
 */
class Tokens {
  readonly #exchange: () => Promise<string>;
  #current: { readonly token: string; readonly until: number; readonly from: number } | null = null;
  #replacing: Promise<string> | null = null;

  /** @param request asks the server for a token */
  constructor(request: () => Promise<string>) {
    this.#exchange = request;
  }

  /** Of all who ask at once, one exchanges. A token that still lives is used if its replacement fails. */
  async current(): Promise<string> {
    const now = Date.now() / 1000;
    if (this.#current !== null && now < this.#current.from) return this.#current.token;
    this.#replacing ??= this.#replace().finally(() => (this.#replacing = null));
    const known = this.#current;
    return this.#replacing.catch((error: unknown) => {
      if (known !== null && now < known.until) return known.token;
      throw error;
    });
  }

  /** The server does not accept it any more. */
  reject(token: string): void {
    if (this.#current?.token === token) this.#current = null;
  }

  async #replace(): Promise<string> {
    const token = await this.#exchange();
    const now = Date.now() / 1000;
    const until = expiryOf(token) ?? now + 2 * lead;
    this.#current = { token, until, from: until - Math.min(lead, (until - now) / 2) };
    return token;
  }
}

/** In seconds since 1970; null: it says none. The server checks its signature, not its bearer. */
function expiryOf(token: string): number | null {
  try {
    const text = Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8");
    return claims.parse(JSON.parse(text)).exp;
  } catch {
    return null;
  }
}

/** Whether a server answers, for people who wait for it. */
export class Contact {
  #silence: { readonly since: number; readonly why: string; readonly isAnswered: boolean } | null = null;

  /** Null: it answers, as far as is known. */
  get silence(): ServerSilence | null {
    if (this.#silence === null) return null;
    const { since, why } = this.#silence;
    return { seconds: (performance.now() - since) / 1000, why };
  }

  /** For how long nothing at all was heard of it; 0: it answers, or something in its place does. */
  get milliseconds(): number {
    return this.#silence === null || this.#silence.isAnswered ? 0 : performance.now() - this.#silence.since;
  }

  /**
   * An answer. One of 5xx is that of a proxy whose server is gone, or of a server that cannot work.
   * @param isBeat of the heartbeat, which a server that cannot work may still answer
   */
  heard(status: number, isBeat: boolean): void {
    if (status >= 500) this.#missed(`HTTP ${status}`, true);
    else if (!isBeat || this.#silence?.isAnswered === false) this.#silence = null;
  }

  /** No answer. */
  missed(why: string): void {
    this.#missed(why, false);
  }

  #missed(why: string, isAnswered: boolean): void {
    this.#silence = { since: this.#silence?.since ?? performance.now(), why, isAnswered };
  }
}
