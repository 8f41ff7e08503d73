/**
 * An HTTP server that looks like a model provider to agent programs: the roles of a team answer their requests, sampled by
 * the engine. Each episode has its own session. The key, the path (`/e/EPISODE/r/ROLE/v1`), the header `x-troupe-role` or
 * the model's name identifies session and role; nothing is inferred from the messages.
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, ListenOptions, Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { TroupeError } from "../errors.ts";
import { repeatsKey } from "../json.ts";
import { didYouMean } from "../nearest.ts";
import { sampledAsRecipe, type Protocol } from "./asked.ts";
import { answerMalformed, bodyOf, jsonIn, protocolAt, send, sendAnswer, sendProblem } from "./http.ts";
import { Report } from "./report.ts";
import { BadRequest, type SessionRole } from "./roles.ts";
import { type Delivery, Session, type SessionSetting } from "./session.ts";

/** A session that programs can reach. */
export interface OpenSession {
  readonly session: Session;
  /** The addresses and keys, as environment variables. */
  readonly variables: Readonly<Record<string, string>>;
  /** Of the episode: without `/v1`, and with the key that any of its roles answers to. */
  readonly address: Address;
  /** By role. */
  readonly addresses: Readonly<Record<string, Address>>;
  /** What the program posts to the episode's address and `/reward`. */
  readonly report: Report;
}

export interface Address {
  readonly url: string;
  readonly key: string;
}

/** Where the gateway listens, and what it tells programs. */
export interface GatewayPlace {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** How programs reach it. Absent: by host and port. */
  readonly url?: string | undefined;
}

/** No other machine reaches it. */
const loopback: GatewayPlace = { host: "127.0.0.1", port: 0 };

interface Registered {
  readonly session: Session;
  /** The role of the key; undefined: any. */
  readonly role?: SessionRole | undefined;
}

/** In bytes. */
const longestRequest = 32 * 2 ** 20;
/** Ended sessions are remembered for a while, so that late calls get a 409. */
const mostEnded = 10_000;

export class Gateway {
  readonly #keys = new Map<string, Registered>();
  readonly #sessions = new Map<string, Session>();
  readonly #reports = new WeakMap<Session, Report>();
  /** By where they listen. */
  readonly #servers = new Map<string, Promise<Server>>();
  /** Of the socket. */
  #folder: Promise<string> | null = null;

  /**
   * Listens, if it does not yet, and begins a session.
   * @throws TroupeError `bad_recipe` if it cannot listen there
   */
  async open(setting: SessionSetting, { host, port, url }: GatewayPlace = loopback): Promise<OpenSession> {
    const variableOf = variableNames(setting.roles);
    const server = await this.#listening({ host, port });
    const session = new Session(setting);
    const report = new Report(session);
    this.#register(this.#sessions, session.id, session);
    this.#reports.set(session, report);
    const bare = host.includes(":") ? `[${host}]` : host;
    const own = `http://${bare}:${(server.address() as AddressInfo).port}`;
    const address = this.#address(`${(url ?? own).replace(/\/+$/, "")}/e/${session.id}`, { session });
    const addresses = setting.roles.map((role) => {
      const ofRole = `${address.url}/r/${encodeURIComponent(role.name)}`;
      return [role.name, this.#address(ofRole, { session, role })] as const;
    });
    const variables = [
      variablesFor(address, ""),
      ...addresses.map(([name, one]) => variablesFor(one, `_${variableOf.get(name)}`)),
    ];
    return {
      session,
      variables: Object.assign({}, ...variables) as Record<string, string>,
      address,
      addresses: Object.fromEntries(addresses),
      report,
    };
  }

  /** Where it can be reached without a network: the path of a socket. */
  async socket(): Promise<string> {
    const folder = await (this.#folder ??= mkdtemp(path.join(tmpdir(), "troupe-gateway-")));
    const socket = path.join(folder, "socket");
    await this.#listening({ path: socket });
    return socket;
  }

  /** Ends connections and stops listening. */
  async close(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    for (const starting of servers) {
      const server = await starting.catch(() => null);
      if (server === null) continue;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    }
    const folder = await this.#folder?.catch(() => undefined);
    this.#folder = null;
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  #listening(place: ListenOptions): Promise<Server> {
    const name = JSON.stringify(place);
    const known = this.#servers.get(name);
    if (known !== undefined) return known;
    const starting = listening(place, (request, response) => this.#handle(request, response));
    this.#servers.set(name, starting);
    // The port may be free later.
    starting.catch(() => this.#servers.delete(name));
    return starting;
  }

  #address(url: string, registered: Registered): Address {
    const key = `troupe-${randomBytes(16).toString("hex")}`;
    this.#register(this.#keys, key, registered);
    return { url, key };
  }

  #register<T extends Session | Registered>(map: Map<string, T>, name: string, value: T): void {
    map.set(name, value);
    if (map.size <= mostEnded) return;
    // The oldest that has ended: a program still uses the others.
    for (const [oldest, one] of map) {
      const session: Session = one instanceof Session ? one : one.session;
      if (!session.hasEnded) continue;
      map.delete(oldest);
      return;
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { parts, protocol } = addressOf(request);
    try {
      const body = await bodyOf(request, longestRequest);
      if (request.method === "POST" && parts.rest === "reward" && parts.role === undefined) {
        this.#reporterOf(request, parts).give(body.length === 0 ? null : reportIn(body));
        return send(response, 200, { accepted: true });
      }
      const { session, role } = this.#calleeOf(request, parts);
      if (request.method === "GET" && parts.rest === "models") return send(response, 200, modelsOf(session));
      if (protocol === undefined)
        throw new BadRequest(`There is nothing at ${request.url}.`, { status: 404, code: "not_found" });
      if (request.method !== "POST")
        throw new BadRequest("Expected a POST request.", { status: 405, code: "method_not_allowed" });
      await answer(request, response, { session, role, protocol, body }).catch((error: Error) => {
        // A mistake of ours must not become a reward.
        if (!(error instanceof BadRequest)) session.fail(error);
        throw error;
      });
    } catch (error) {
      // The program is ended anyway: trying again would be in vain.
      sendProblem(response, protocol, problemOf(error), { "x-should-retry": "false" });
    }
  }

  /** Whoever reports needs the key of the episode: its roles must not reward themselves. @throws BadRequest */
  #reporterOf({ headers }: IncomingMessage, { episode }: Parts): Report {
    const keyed = this.#keys.get(keyOf(headers));
    if (keyed === undefined)
      throw denied("A reward needs the episode's key, as `Authorization: Bearer KEY`.", 401);
    if (episode !== undefined && keyed.session.id !== episode)
      throw denied("The key and the address are those of different episodes.", 401);
    if (keyed.role !== undefined)
      throw denied(`This is the key of the role ${keyed.role.name}; a reward needs the episode's.`, 403);
    return this.#reports.get(keyed.session) as Report;
  }

  /** @throws BadRequest if the session or the role is not known */
  #calleeOf({ headers }: IncomingMessage, { episode, role }: Parts): Registered {
    const keyed = this.#keys.get(keyOf(headers));
    const session = episode === undefined ? keyed?.session : this.#sessions.get(episode);
    if (session === undefined)
      throw new BadRequest("The key is not that of an episode.", { status: 401, code: "invalid_api_key" });
    // A program that still uses the address of an earlier episode would get credit in the wrong one.
    if (keyed !== undefined && keyed.session !== session)
      throw new BadRequest("The key and the address are those of different episodes.", {
        status: 401,
        code: "invalid_api_key",
      });
    const own = keyed?.role?.name;
    const header = headers["x-troupe-role"];
    const named = [role, typeof header === "string" ? header : undefined, own].filter(
      (one) => one !== undefined,
    );
    const names = session.roles.map(({ name }) => name);
    const unknown = named.find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new BadRequest(
        `There is no role \`${unknown}\`; ${didYouMean(unknown, names) ?? `the roles are ${names.join(", ")}`}`,
        { code: "unknown_role" },
      );
    const [first = names.length === 1 ? names[0] : undefined, ...others] = named;
    if (others.some((name) => name !== first))
      throw severalRoles(session.roles.filter(({ name }) => named.includes(name)));
    return { session, role: session.roles.find(({ name }) => name === first) };
  }
}

function denied(message: string, status: number): BadRequest {
  return new BadRequest(message, { status, code: "invalid_api_key" });
}

/** Names of variables, by role. @throws TroupeError `bad_recipe` if two would be the same */
function variableNames(roles: readonly SessionRole[]): ReadonlyMap<string, string> {
  const names = roles.map(({ name }) => [name, variableName(name)] as const);
  const twice = names.find(([, variable], index) => names.findIndex((one) => one[1] === variable) !== index);
  if (twice === undefined) return new Map(names);
  throw new TroupeError(
    "bad_recipe",
    `two roles would have the variable OPENAI_BASE_URL_${twice[1]}: rename the role ${twice[0]}.`,
  );
}

/** The end of a role's variables, without the underscore before it. */
export function variableName(role: string): string {
  return role.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_");
}

/** One that has a key twice has two rewards. @throws BadRequest */
function reportIn(body: Buffer): unknown {
  const value = jsonIn(body);
  if (!repeatsKey(body.toString("utf8"))) return value;
  throw new BadRequest("This is no reward: it has a key twice.", { code: "invalid_reward" });
}

/** What the clients of OpenAI and Anthropic read by themselves. */
export function variablesFor({ url, key }: Address, suffix: string): Record<string, string> {
  return {
    [`OPENAI_BASE_URL${suffix}`]: `${url}/v1`,
    [`OPENAI_API_KEY${suffix}`]: key,
    [`ANTHROPIC_BASE_URL${suffix}`]: url,
    [`ANTHROPIC_API_KEY${suffix}`]: key,
  };
}

/** @throws TroupeError `bad_recipe` */
async function listening(
  place: ListenOptions,
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Server> {
  // A program may think for long between two calls, and a connection that is closed then may be the one of the next.
  const server = createServer({ requestTimeout: 120_000, keepAliveTimeout: 600_000 }, (request, response) => {
    handle(request, response).catch(() => response.destroy());
  }).on("clientError", answerMalformed);
  server.listen(place);
  await once(server, "listening").catch((cause: Error) => {
    throw new TroupeError(
      "bad_recipe",
      `environment.gateway: it cannot listen there (${cause.message}): name an address of this machine, and a port that nothing else uses, or none.`,
      { cause },
    );
  });
  // A run that ends in another way need not wait for it.
  return server.unref();
}

interface Parts {
  readonly episode?: string | undefined;
  readonly role?: string | undefined;
  /** Without `/v1`. */
  readonly rest: string;
}

function addressOf({ url = "/" }: IncomingMessage): { parts: Parts; protocol: Protocol | undefined } {
  const [pathname = ""] = /^[^?#]*/.exec(url) ?? [];
  const found = /^(?:\/e\/([^/]+))?(?:\/r\/([^/]+))?(?:\/v1)*\/?(.*?)\/*$/.exec(pathname) ?? [];
  const [, episode, role, rest = ""] = found;
  const parts = { episode, role: role === undefined ? undefined : decoded(role), rest };
  return { parts, protocol: protocolAt(rest) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function keyOf({ authorization = "", "x-api-key": key }: IncomingMessage["headers"]): string {
  return /^Bearer\s+(.+)$/i.exec(authorization)?.[1] ?? (typeof key === "string" ? key : "");
}

function modelsOf({ roles }: Session): object {
  return {
    object: "list",
    data: roles.map(({ name }) => ({ id: name, object: "model", owned_by: "troupe" })),
  };
}

interface Incoming extends Registered {
  readonly protocol: Protocol;
  readonly body: Buffer;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { session, role, protocol, body }: Incoming,
): Promise<void> {
  const asked = sampledAsRecipe(protocol.read(jsonIn(body), (id) => session.said(id)));
  const modelled = session.roles.find(({ name }) => name === asked.model);
  if (role !== undefined && modelled !== undefined && modelled !== role) throw severalRoles([role, modelled]);
  const called = role ?? modelled ?? nobody(session);
  const { headers, socket } = request;
  await allHeard();
  if (socket.readableEnded || response.closed) return;
  const again = String(headers["idempotency-key"] ?? "");
  const delivery = session.ask(called, asked, {
    digest: createHash("sha256").update(again).update("\n").update(body).digest("hex"),
    isRetry: Number(headers["x-stainless-retry-count"] ?? 0) > 0 || again !== "",
  });
  let isOpen = true;
  // A response is closed only some time after its client has gone.
  const closed = (): void => {
    isOpen = false;
    delivery.closed();
    socket.off("end", closed);
  };
  const finished = (): void => {
    if (isOpen) delivery.delivered();
  };
  response.on("finish", finished).on("close", closed);
  socket.on("end", closed);
  // A client that went before it read what was sent resets the connection.
  if (!lastSent.has(socket))
    socket.once("close", (isReset: boolean) => {
      if (isReset) lastSent.get(socket)?.lost();
    });
  lastSent.set(socket, delivery);
  const replies = delivery.answer.then(async (given) => {
    await allHeard();
    return given;
  });
  await sendAnswer(response, { protocol, asked, answer: replies, problemOf });
}

/** By connection: whoever asks again over it has the answer before. */
const lastSent = new WeakMap<Socket, Delivery>();

/**
 * Resolves when everything that has arrived was read. A busy process may read that a client tries again before it reads that
 * the client gave the call up, or even the call; or that a client has gone only after it has sent the answer.
 */
async function allHeard(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await setImmediate();
}

function nobody({ roles }: Session): never {
  const names = roles.map(({ name }) => name).join(", ");
  throw new BadRequest(
    `The request names no role; the roles are ${names}. Use the key or the base URL of one (OPENAI_API_KEY_ROLE, ` +
      "/r/ROLE/v1), the header x-troupe-role, or its name as the model.",
    { code: "no_role" },
  );
}

function severalRoles(roles: readonly SessionRole[]): BadRequest {
  const names = roles.map(({ name }) => name).join(", ");
  return new BadRequest(`The request names several roles: ${names}.`, { code: "unknown_role" });
}

function problemOf(error: unknown): BadRequest {
  if (error instanceof BadRequest) return error;
  return new BadRequest("Sampling failed; the episode is not used.", {
    status: 500,
    code: "sampling_failed",
  });
}
