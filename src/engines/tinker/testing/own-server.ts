/** A server in this process, with the tiny engine, and requests to it. */
import { join } from "node:path";
import { afterAll, afterEach } from "vitest";
import { makeModel, temporaryFolder } from "../../../models/test-model.ts";
import { someDatum } from "../../local/test-engine.ts";
import { TinyEngine } from "../../testing/tiny-engine.ts";
import { encodeCall } from "../protocol/forward-backward.ts";
import { wireData } from "../protocol/losses.ts";
import { standardLimits, type ServerOptions } from "../server/options.ts";
import { startServer, type TinkerServer } from "../server/server.ts";

export const folder = temporaryFolder();
const directory = await makeModel(folder, "tiny");
export const servers: TinkerServer[] = [];
export const engine = new TinyEngine();
export async function stop(): Promise<void> {
  for (const server of servers.splice(0)) await server.close();
}
afterEach(stop);
afterAll(() => engine.close());

let folders = 0;

type Changes = Partial<Omit<ServerOptions, "limits">> & {
  readonly limits?: Partial<ServerOptions["limits"]>;
};

/** Returns what sends a request and reads its JSON. */
export async function start({ limits, ...changes }: Changes = {}) {
  const server = await startServer(engine, {
    models: [{ name: "tiny", directory }],
    folder: join(folder, `served-${(folders += 1)}`),
    keys: [],
    host: "127.0.0.1",
    port: 0,
    log: () => {},
    ...changes,
    limits: { ...standardLimits, pollMilliseconds: 10_000, ...limits },
  });
  servers.push(server);
  return (path: string, body?: object | Buffer, headers: Record<string, string> = {}) =>
    send(server, path, body, headers);
}

export type Send = Awaited<ReturnType<typeof start>>;

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

export async function createModel(
  ask: Send,
  headers: Record<string, string> = {},
  number = 0,
  session?: string,
) {
  const opened = session ?? String((await ask("create_session", {}, headers)).json["session_id"]);
  const body = {
    session_id: opened,
    model_seq_id: number,
    base_model: "tiny",
    lora_config: { rank: 2, seed: 1 },
  };
  const { json } = await resultOf(ask, "create_model", body, headers);
  return { session: opened, id: String(json["model_id"]), json };
}

export function gradients(modelId: string, seqId: number, shift = 0): Buffer {
  const data = wireData([someDatum("p", shift)], { type: "cross_entropy" });
  return encodeCall({ modelId, seqId, loss: "cross_entropy", config: {}, forwardOnly: false, data });
}
