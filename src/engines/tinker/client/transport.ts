/**
 * HTTP with pooled, bounded connections: a request waits until one of its pool is free. Pools are separate, so that long
 * polls never hold up a submission, nor either the heartbeat.
 */
import { Agent as PlainAgent, type ClientRequest } from "node:http";
import { Agent as SecureAgent } from "node:https";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { z } from "zod";
import { checkArgument } from "../../../arguments.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import * as schema from "../protocol/schema.ts";
import { parsed, rejectionOf } from "./answers.ts";
import { Contact } from "./contact.ts";
import { exchange, LateAnswer, proto } from "./exchange.ts";
import type { Incoming } from "./incoming.ts";
import { Tokens } from "./tokens.ts";

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

export type { Incoming } from "./incoming.ts";

const compress = promisify(zstdCompress);
const optionsSchema = z.looseObject({
  url: z.string(),
  key: z.string().optional(),
  connections: z.int().min(1).optional(),
});

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
    checkArgument("options", optionsSchema, options);
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
      const isLongPoll = error instanceof LateAnswer && pool === "poll";
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
