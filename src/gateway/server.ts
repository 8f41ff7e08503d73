/**
 * Trained roles for anybody's programs: an HTTP server that looks like a model provider, in which each role is a model.
 * Unlike the gateway of training it does what a request says about sampling, and answers each request from its messages
 * alone. It keeps nothing but what OpenAI's responses may refer to later, for a while.
 */
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { Activity, type ServerEvent } from "../calls/activity.ts";
import { callerOf, checkReach, listenAt, type ListenOptions } from "../calls/listen.ts";
import { TroupeError } from "../errors.ts";
import type { EngineCapabilities, SampledSequence, SamplingOptions } from "../engines/engine.ts";
import { rootKey, seedOf } from "../random.ts";
import { beginHistory } from "../text/history.ts";
import type { Message } from "../text/tokenizer.ts";
import { parsed, type Asked, type Protocol } from "./asked.ts";
import { answerMalformed, bodyOf, jsonIn, protocolAt, send, sendAnswer, sendProblem } from "./http.ts";
import { responses } from "./responses.ts";
import {
  BadRequest,
  checkFits,
  messagesFor,
  placed,
  replyIn,
  usageOf,
  type RoleReply,
  type Said,
  type SampledRole,
} from "./roles.ts";
import type { SessionSetting } from "./session.ts";

export interface RoleServerOptions extends ListenOptions {
  /** A request that says nothing about the length of a reply gets at most the role's `maxTokens`. */
  readonly roles: readonly SampledRole[];
  /** Of requests that say nothing about it. */
  readonly sampling: SessionSetting["sampling"];
  readonly sample: SessionSetting["sample"];
  readonly capabilities: Pick<EngineCapabilities, "topK" | "stopStrings">;
  readonly limits: RoleServerLimits;
  /** For the person who runs the server: requests once a minute, everything else as it happens. */
  readonly log: (event: ServerEvent) => void;
}

export interface RoleServerLimits {
  /** Unfinished replies of one key. */
  readonly pending: number;
  /** Bytes of the bodies of one key's unfinished requests, and of those being received. */
  readonly pendingBytes: number;
  /** Bytes of one request. */
  readonly requestBytes: number;
  /** Characters of the conversations that OpenAI's responses may refer to, of all keys: the newest ones. */
  readonly saidCharacters: number;
}

export const roleServerLimits: RoleServerLimits = {
  pending: 1000,
  pendingBytes: 2 ** 28,
  requestBytes: 2 ** 22,
  saidCharacters: 2 ** 26,
};

export interface RoleServer {
  readonly url: string;
  /** Requests without an answer. */
  readonly unfinished: () => number;
  /** Rejects new requests, and resolves once the others are answered. */
  drain(): Promise<void>;
  /** Ends connections. */
  close(): Promise<void>;
}

/** @throws TroupeError `bad_arguments` for a public address without keys, or one that is in use */
export async function serveRoles(options: RoleServerOptions): Promise<RoleServer> {
  checkReach(options);
  const service = new RoleService(options);
  const times = { requestTimeout: 120_000, headersTimeout: 20_000, keepAliveTimeout: 60_000 };
  const server = createServer(times, (request, response) => {
    service.handle(request, response).catch((error: unknown) => {
      service.activity.failure(error);
      response.destroy();
    });
  }).on("clientError", answerMalformed);
  const url = await listenAt(server, options);
  const reports = setInterval(() => service.activity.report(), 60_000).unref();
  return {
    url,
    unfinished: () => service.unfinished,
    drain: async () => {
      await service.drain();
      const ended = once(server, "close");
      server.close(); // and connections that wait for nothing
      await Promise.race([ended, setTimeout(1000)]);
    },
    close: async () => {
      clearInterval(reports);
      service.activity.report();
      server.close();
      server.closeAllConnections();
    },
  };
}

class RoleService {
  readonly activity: Activity;
  readonly #options: RoleServerOptions;
  readonly #started = Math.floor(Date.now() / 1000);
  /** By key. */
  readonly #loads = new Map<string, Load>();
  readonly #said: RecentlySaid;
  #isStopping = false;

  constructor(options: RoleServerOptions) {
    this.#options = options;
    this.#said = new RecentlySaid(options.limits.saidCharacters);
    this.activity = new Activity(options.log, () => ({ unfinished: this.unfinished }));
  }

  get unfinished(): number {
    return [...this.#loads.values()].reduce((sum, { requests }) => sum + requests, 0);
  }

  async drain(): Promise<void> {
    this.#isStopping = true;
    while (this.unfinished > 0) await setTimeout(20);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { named, rest } = placeOf(request);
    const protocol = protocolAt(rest);
    try {
      const owner = this.#ownerOf(request);
      const models = /^models(?:\/(.*))?$/.exec(rest);
      if (request.method === "GET" && models !== null) return send(response, 200, this.#modelsOf(models[1]));
      if (protocol === undefined)
        throw new BadRequest(`There is nothing at ${request.url}.`, { status: 404, code: "not_found" });
      if (request.method !== "POST")
        throw new BadRequest("Expected a POST request.", { status: 405, code: "method_not_allowed" });
      await this.#answer(request, response, { protocol, owner, named });
    } catch (error) {
      if (request.errored !== null || response.destroyed) return void response.destroy(); // the client is gone
      const problem = this.#problemOf(error);
      this.activity.rejected(problem.status);
      const again = problem.status === 429 || problem.status === 503;
      sendProblem(response, protocol, problem, again ? { "retry-after": "1" } : {});
    }
  }

  #ownerOf({ headers }: IncomingMessage): string {
    const caller = callerOf(this.#options.keys, headers);
    if ("owner" in caller) return caller.owner;
    const code = caller.status === 401 ? "invalid_api_key" : "forbidden";
    throw new BadRequest(caller.problem, { status: caller.status, code });
  }

  /** All of them, or the one that is named. */
  #modelsOf(name: string | undefined): object {
    const described = ({ name: id, maxLength }: SampledRole): object => {
      return { id, object: "model", created: this.#started, owned_by: "troupe", max_model_len: maxLength };
    };
    if (name !== undefined) return described(this.#roleOf(name));
    return { object: "list", data: this.#options.roles.map(described) };
  }

  #roleOf(model: string): SampledRole {
    const { roles } = this.#options;
    const found = roles.find(({ name }) => name === model);
    if (found !== undefined) return found;
    const names = roles.map(({ name }) => name).join(", ");
    if (model === "")
      throw new BadRequest(`The request names no model; the models are ${names}.`, { code: "no_model" });
    throw new BadRequest(`There is no model \`${model}\`; the models are ${names}.`, {
      status: 404,
      code: "model_not_found",
    });
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    { protocol, owner, named }: Asking,
  ): Promise<void> {
    if (this.#isStopping)
      throw new BadRequest("The server is being stopped.", { status: 503, code: "stopping" });
    using held = new Held(this.#loadOf(owner), this.#options.limits);
    held.replies(1);
    const body = await bodyOf(request, this.#options.limits.requestBytes, (bytes) => held.body(bytes));
    const read = protocol.read(jsonIn(body), (id) => this.#said.get(owner, id));
    const role = this.#roleOf(named ?? read.model);
    const { asked, sampling } = sampledAsAsked(read, this.#options.capabilities);
    held.replies(asked.count);
    const history = placed(() => beginHistory(role.tokenizer, messagesFor(role, asked), asked.tools));
    checkFits(role, history);
    this.activity.answered(role.name);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = this.#sample(role, asked, history.tokens, sampling, gone.signal).then((replies) => {
      if (protocol === responses) for (const reply of replies) this.#said.add(owner, reply, asked.messages);
      return replies;
    });
    await sendAnswer(response, { protocol, asked, answer, problemOf: (error) => this.#problemOf(error) });
    response.setTimeout(60_000); // of clients that do not read it
  }

  #loadOf(owner: string): Load {
    const load = this.#loads.get(owner) ?? { requests: 0, replies: 0, bytes: 0 };
    this.#loads.set(owner, load);
    return load;
  }

  async #sample(
    role: SampledRole,
    asked: Asked,
    prompt: Int32Array,
    { seed, hasLogprobs, ...sampling }: AskedSampling,
    signal: AbortSignal,
  ): Promise<readonly RoleReply[]> {
    const { tokenizer, policy, maxLength } = role;
    // Text ends before what stops it even if the engine cannot stop there.
    const stop = this.#options.capabilities.stopStrings ? asked.stop : [];
    const sequences = await this.#options.sample(
      {
        ...this.#options.sampling,
        ...sampling,
        policy,
        prompt,
        count: asked.count,
        maxTokens: Math.min(asked.maxTokens ?? role.maxTokens, maxLength - prompt.length),
        stopTokens: tokenizer.endTokens,
        stopStrings: [...new Set([...role.stop, ...stop])],
        seed: seed === undefined ? randomInt(2 ** 47) : seedOf(rootKey(seed)),
        continued: true,
      },
      signal,
    );
    return sequences.map((sequence) => {
      const id = randomBytes(12).toString("hex");
      const reply = replyIn(tokenizer, sequence, asked.stop, id);
      return {
        ...sequence,
        id,
        role: role.name,
        added: asked.messages,
        prompt,
        reply,
        usage: usageOf(tokenizer, sequence.tokens, reply, { prompt: prompt.length, cached: 0 }),
        ...(hasLogprobs ? { pieces: piecesOf(tokenizer, sequence) } : {}),
      };
    });
  }

  /** Anything but a bad request is a failure of ours. */
  #problemOf(error: unknown): BadRequest {
    if (error instanceof BadRequest) return error;
    if (!(error instanceof TroupeError) || error.code !== "cancelled") {
      this.activity.failed(error instanceof Error ? error.message : String(error));
      this.activity.failure(error);
    }
    return new BadRequest("Sampling failed; the server's log says why.", {
      status: 500,
      code: "sampling_failed",
    });
  }
}

interface Asking {
  readonly protocol: Protocol;
  readonly owner: string;
  /** The role in the address, which programs of a training use; it wins over the request's model. */
  readonly named: string | undefined;
}

/** `/v1/REST`, or `/r/ROLE/v1/REST` */
function placeOf({ url = "/" }: IncomingMessage): { named: string | undefined; rest: string } {
  const [, named, rest = ""] = /^(?:\/r\/([^/?#]+))?\/(?:v1\/)*(.*?)\/*(?:[?#].*)?$/.exec(url) ?? [];
  return { named, rest };
}

const unit = z.number().min(0).max(1);

/** Null or absent: the request says nothing about it. */
const samplingSchema = z.looseObject({
  temperature: z.number().min(0).max(2).optional(),
  top_p: unit.optional(),
  /** -1, as other servers have it, or 0: off. */
  top_k: z.int().min(-1).optional(),
  seed: z.int().optional(),
  logprobs: z.boolean().optional(),
});

interface AskedSampling extends Partial<Pick<SamplingOptions, "temperature" | "topP" | "topK">> {
  readonly seed: number | undefined;
  readonly hasLogprobs: boolean;
}

/** Numbers that ask for nothing. */
const neutral: ReadonlySet<unknown> = new Set([0, false]);

/** What the request's options ask for; warnings name the others. @throws BadRequest for values out of range */
function sampledAsAsked(
  read: Asked,
  capabilities: Pick<EngineCapabilities, "topK">,
): { readonly asked: Asked; readonly sampling: AskedSampling } {
  const {
    temperature,
    top_p: topP,
    top_k: topK = 0,
    seed,
    logprobs,
    ...others
  } = parsed(samplingSchema, read.sampling);
  if (topK > 0 && !capabilities.topK) throw new BadRequest("top_k: the engine of this server has no top-k");
  const ignored = Object.keys(others).filter((name) => !neutral.has(others[name]));
  const warnings = ignored.map((name) => `\`${name}\` has no effect: it is not supported`);
  return {
    asked: { ...read, warnings: [...warnings, ...read.warnings] },
    sampling: {
      ...(temperature === undefined ? {} : { temperature }),
      // Only the most probable token has this much: the engine has no 0.
      ...(topP === undefined ? {} : { topP: Math.max(topP, 1e-6) }),
      ...(topK > 0 ? { topK } : {}),
      seed,
      hasLogprobs: logprobs === true,
    },
  };
}

/** Every sampled token but the one that ends the turn. */
function piecesOf(
  tokenizer: SampledRole["tokenizer"],
  { tokens, logprobs }: SampledSequence,
): NonNullable<RoleReply["pieces"]> {
  const length = tokenizer.endTokens.includes(tokens.at(-1) ?? -1) ? tokens.length - 1 : tokens.length;
  return Array.from(tokens.subarray(0, length), (token, index) => {
    return { bytes: tokenizer.tokenBytes(token), logprob: logprobs[index] ?? Number.NaN };
  });
}

/** What one key has unfinished. */
interface Load {
  requests: number;
  replies: number;
  bytes: number;
}

/** The part of a request in it, until its end. */
class Held implements Disposable {
  readonly #load: Load;
  readonly #limits: RoleServerLimits;
  #replies = 0;
  #bytes = 0;

  constructor(load: Load, limits: RoleServerLimits) {
    this.#load = load;
    this.#limits = limits;
    load.requests += 1;
  }

  /** @throws BadRequest 429 beyond the key's limit, as `body` */
  replies(count: number): void {
    const replies = this.#load.replies + count - this.#replies;
    const { pending } = this.#limits;
    if (replies > pending) throw tooMany(`${replies} replies would be unfinished; the limit is ${pending}.`);
    [this.#load.replies, this.#replies] = [replies, count];
  }

  body(bytes: number): void {
    const held = this.#load.bytes + bytes - this.#bytes;
    const { pendingBytes } = this.#limits;
    if (held > pendingBytes) throw tooMany(`Unfinished requests have more than ${pendingBytes} bytes.`);
    [this.#load.bytes, this.#bytes] = [held, bytes];
  }

  [Symbol.dispose](): void {
    this.#load.requests -= 1;
    this.#load.replies -= this.#replies;
    this.#load.bytes -= this.#bytes;
  }
}

function tooMany(problem: string): BadRequest {
  return new BadRequest(problem, { status: 429, code: "too_many_requests" });
}

/** Of an entry in memory, besides its text. */
const overhead = 1500;

/** The newest replies and what they answer, each for the key that asked. */
class RecentlySaid {
  readonly #most: number;
  readonly #said = new Map<string, { readonly said: Said; readonly characters: number }>();
  #characters = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(owner: string, id: string): Said | undefined {
    return this.#said.get(`${owner} ${id}`)?.said;
  }

  add(owner: string, { id, reply: { text, calls } }: RoleReply, messages: readonly Message[]): void {
    const reply: Message = { role: "assistant", content: text, ...(calls === undefined ? {} : { calls }) };
    const characters = overhead + JSON.stringify([messages, reply]).length;
    this.#said.set(`${owner} ${id}`, { said: { messages, reply }, characters });
    this.#characters += characters;
    for (const [key, oldest] of this.#said) {
      if (this.#characters <= this.#most) return;
      this.#said.delete(key);
      this.#characters -= oldest.characters;
    }
  }
}
