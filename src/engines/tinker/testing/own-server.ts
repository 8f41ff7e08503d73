/** A server in this process, with the tiny engine, and requests to it. */
import { join } from "node:path";
import { afterEach, type afterAll } from "vitest";
import { makeModel, temporaryFolder } from "../../../models/test-model.ts";
import { atEndOfFile } from "../../../test-end.ts";
import { someDatum, testEngine } from "../../local/test-engine.ts";
import { TinyEngine } from "../../testing/tiny-engine.ts";
import { encodeCall } from "../protocol/forward-backward.ts";
import { wireData } from "../protocol/losses.ts";
import { standardLimits, type ServerOptions } from "../server/options.ts";
import { startServer, type TinkerServer } from "../server/server.ts";

type Changes = Partial<Omit<ServerOptions, "limits">> & {
  readonly limits?: Partial<ServerOptions["limits"]>;
};

const optionsOf = (directory: string, folder: string, name = "tiny"): ServerOptions => ({
  models: [{ name, directory }],
  folder,
  keys: [],
  host: "127.0.0.1",
  port: 0,
  log: () => {},
  limits: standardLimits,
});

/** The address of a server with the local engine, closed at the end of the file. */
export async function localServer(model: string, folder: string, name?: string): Promise<string> {
  const server = await startServer(testEngine({ threads: 1 }), optionsOf(model, folder, name));
  atEndOfFile(() => server.close());
  return server.url;
}

/** Servers of a test file. @param closing when they are closed; default: after each test */
export async function ownServers(closing: typeof afterAll = afterEach) {
  const folder = temporaryFolder();
  const directory = await makeModel(folder, "tiny");
  const engine = new TinyEngine();
  atEndOfFile(() => engine.close());
  const servers: TinkerServer[] = [];
  const stop = async (): Promise<void> => {
    for (const server of servers.splice(0)) await server.close();
  };
  closing(stop);
  let folders = 0;

  /** Returns what sends a request and reads its JSON. */
  const start = async ({ limits, ...changes }: Changes = {}): Promise<Send> => {
    const server = await startServer(engine, {
      ...optionsOf(directory, join(folder, `served-${(folders += 1)}`)),
      ...changes,
      limits: { ...standardLimits, pollMilliseconds: 10_000, ...limits },
    });
    servers.push(server);
    return (path, body, headers = {}) => send(server, path, body, headers);
  };
  /** Starts one, with a model and a session. */
  const open = async (changes: Changes = {}, headers: Record<string, string> = {}) => {
    const ask = await start(changes);
    return { ask, ...(await createModel(ask, headers)) };
  };
  return { folder, engine, servers, start, stop, open };
}

export type Send = (
  path: string,
  body?: object | Buffer,
  headers?: Record<string, string>,
) => Promise<{ status: number; json: Record<string, unknown> }>;

async function send(
  server: TinkerServer,
  path: string,
  body: object | Buffer | undefined,
  headers: Record<string, string>,
) {
  const [method, name] = path.includes(" ") ? path.split(" ") : [body === undefined ? "GET" : "POST", path];
  const isBytes = Buffer.isBuffer(body);
  const response = await fetch(`${server.url}/api/v1/${name}`, {
    method: method ?? "GET",
    headers: { "content-type": isBytes ? "application/x-protobuf" : "application/json", ...headers },
    ...(body === undefined ? {} : { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

/** The result of a submitted request. */
export async function resultOf(
  ask: Send,
  path: string,
  body: object | Buffer,
  headers: Record<string, string> = {},
) {
  const { status, json } = await ask(path, body, headers);
  if (status !== 200) return { status, json };
  return ask("retrieve_future", { request_id: json["request_id"] }, headers);
}

/** A model, and its requests in their turn. */
export async function createModel(
  ask: Send,
  headers: Record<string, string> = {},
  number = 0,
  opened?: string,
) {
  const session = opened ?? String((await ask("create_session", {}, headers)).json["session_id"]);
  const lora_config = { rank: 2, seed: 1 };
  const body = { session_id: session, model_seq_id: number, base_model: "tiny", lora_config };
  const { json } = await resultOf(ask, "create_model", body, headers);
  const id = String(json["model_id"]);
  let last = 0;
  /** The next request: what was made of it. Without a body, a gradient. */
  const run = async (path: string, more?: object) => {
    const seq_id = (last += 1);
    const sent = more === undefined ? gradients(id, seq_id) : { model_id: id, seq_id, ...more };
    return (await resultOf(ask, path, sent, headers)).json;
  };
  return { session, id, json, run };
}

export function gradients(modelId: string, seqId: number, shift = 0): Buffer {
  const data = wireData([someDatum("p", shift)], { type: "cross_entropy" });
  return encodeCall({ modelId, seqId, loss: "cross_entropy", config: {}, forwardOnly: false, data });
}
