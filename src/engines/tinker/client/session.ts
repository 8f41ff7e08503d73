/**
 * A session: opened when first needed, kept alive by a heartbeat, ended with everything in it. And the weights that a
 * server keeps for its key.
 */
import { setTimeout as delay } from "node:timers/promises";
import { TroupeError } from "../../../errors.ts";
import { checkSessionOptions } from "../arguments.ts";
import * as schema from "../protocol/schema.ts";
import { parsed } from "./answers.ts";
import { Completions, Requests, standardRequests, type RequestOptions } from "./requests.ts";
import { Transport, type TransportOptions } from "./transport.ts";

export interface SessionInfo {
  readonly id: string;
  /** Models that the server has. */
  readonly models: readonly string[];
  /** Data in one forward_backward. */
  readonly chunkData: number;
  readonly chunkBytes: number;
}

export interface SessionOptions extends TransportOptions {
  readonly requests?: Partial<RequestOptions> | undefined;
  /** Name of the run, for people. */
  readonly run?: string | undefined;
  readonly heartbeatMilliseconds?: number | undefined;
  /** If the server announces none. */
  readonly chunkData: number;
  readonly chunkBytes: number;
}

export class Session {
  readonly requests: Requests;
  readonly #transport: Transport;
  readonly #options: SessionOptions;
  #info: Promise<SessionInfo> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #counter = 0;
  #hasCompletions = false;
  #isClosed = false;

  /** @throws TroupeError `bad_arguments` */
  constructor(options: SessionOptions) {
    checkSessionOptions(options);
    this.#options = options;
    this.#transport = new Transport(options);
    this.requests = new Requests(this.#transport, { ...standardRequests, ...options.requests });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The server runs on this machine. */
  get isLocal(): boolean {
    return ["127.0.0.1", "localhost", "[::1]"].includes(new URL(this.#options.url).hostname);
  }

  /** @throws TroupeError `bad_arguments` once it is closed */
  open(): Promise<SessionInfo> {
    if (this.#isClosed) throw new TroupeError("bad_arguments", "The engine is closed.");
    this.#info ??= this.#open().catch((error: unknown) => {
      this.#info = null;
      throw error;
    });
    return this.#info;
  }

  /** A number for a model or sampling session, unique in this session. */
  nextNumber(): number {
    return this.#counter++;
  }

  /** For the requests of a sampling session, if the server reports them. */
  completionsOf(sampler: string): Completions | undefined {
    const { pollMilliseconds } = { ...standardRequests, ...this.#options.requests };
    return this.#hasCompletions ? new Completions(this.#transport, sampler, pollMilliseconds) : undefined;
  }

  /** Ends the session, at the server too if it can be reached. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.requests.close();
    const opened = this.#info?.catch(() => null);
    // A server that has not answered yet may never do so; without a heartbeat it ends the session itself.
    const info = await Promise.race([opened, delay(1000, null, { ref: false })]);
    const path = `sessions/${encodeURIComponent(info?.id ?? "")}/finish`;
    // Not behind requests that the server may never answer.
    const milliseconds = this.#transport.contact.silence === null ? 10_000 : 1000;
    const finish = { path, body: {}, milliseconds, pool: "heartbeat" } as const;
    if (info) await this.#transport.send(finish).catch(() => undefined);
    this.#transport.close();
  }

  async #open(): Promise<SessionInfo> {
    const { requests } = this;
    const version = { sdk_version: "0.38.0" };
    const config = await requests.send(schema.request("client/config", version)).catch((error: unknown) => {
      if (!requests.hasAnswered) throw error;
      return null; // servers of other kinds may lack it
    });
    const limits =
      config === null ? schema.clientConfig.parse({}) : parsed(schema.clientConfig, config, "client/config");
    if (limits.pjwt_auth_enabled) this.#transport.useTokens();
    if (limits.proto_compress_fwdbwd) this.#transport.compress();
    this.#hasCompletions = limits.sample_use_retrieve_futures;
    const supported = await requests.send({ method: "GET", path: "get_server_capabilities" });
    const capabilities = parsed(schema.capabilities, supported, "get_server_capabilities");
    requests.queue.describe(capabilities);
    const type = "create_session";
    const { run } = this.#options;
    const metadata = run === undefined ? {} : { run };
    const body = { tags: ["troupe"], user_metadata: metadata, type, ...version };
    const created = await requests.send(schema.request(type, body));
    const { session_id: id } = parsed(schema.sessionCreated, created, type);
    this.#beat(id);
    return {
      id,
      models: capabilities.supported_models.flatMap(({ model_name: name }) => name ?? []),
      chunkData: limits.fwdbwd_max_chunk_len ?? this.#options.chunkData,
      chunkBytes: limits.fwdbwd_max_chunk_bytes_count ?? this.#options.chunkBytes,
    };
  }

  /** A beat that fails is made up for by the next; the server waits for many. */
  #beat(session: string): void {
    const type = "session_heartbeat";
    const request = schema.request(type, { session_id: session, type });
    const beat = (): void =>
      void this.#transport
        .send({ ...request, pool: "heartbeat", milliseconds: 10_000 })
        .catch(() => undefined);
    this.#timer = setInterval(beat, this.#options.heartbeatMilliseconds ?? 10_000).unref();
  }
}

export interface Checkpoint {
  readonly path: string;
  /** `training`: with the optimizer's state. */
  readonly type: string;
  readonly time: string;
}

/** The saved weights of a model. @param run its identifier */
export async function listCheckpoints(session: Session, run: string): Promise<readonly Checkpoint[]> {
  const path = `training_runs/${encodeURIComponent(run)}/checkpoints`;
  const found = await session.requests.send({ method: "GET", path });
  return parsed(schema.checkpoints, found, path).checkpoints.map(
    ({ checkpoint_type: type, time, tinker_path }) => ({
      path: tinker_path,
      type,
      time,
    }),
  );
}

/** @throws TroupeError `bad_model` if there is none of this path */
export async function deleteCheckpoint(session: Session, path: string): Promise<void> {
  await session.requests.send({ method: "DELETE", path: checkpointPath(path) });
}

/** Of saved weights, below `/api/v1/`. @throws TroupeError `bad_model` if they have no such path */
export function checkpointPath(path: string): string {
  const [, run = "", name = ""] = /^tinker:\/\/([^/]+)\/([^/]+\/[^/]+)$/.exec(path) ?? [];
  if (run !== "") return `training_runs/${encodeURIComponent(run)}/checkpoints/${name}`;
  throw new TroupeError("bad_model", `${JSON.stringify(path)} is not a path of saved weights.`);
}
