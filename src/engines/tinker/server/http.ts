/** HTTP: bounded bodies, compression, keys; every answer is JSON or protobuf. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { callerOf } from "../../../calls/listen.ts";
import { asRejection, Rejection, type Call } from "./call.ts";
import type { ServerOptions } from "./options.ts";
import { answer } from "./routes.ts";
import type { Service } from "./service.ts";

const prefix = "/api/v1/";
const proto = "application/x-protobuf";

export function httpServer(service: Service): Server {
  const server = createServer({ requestTimeout: 120_000, headersTimeout: 20_000 }, (request, response) => {
    handle(service, request, response).catch((error: unknown) => {
      service.activity.failure(error);
      response.destroy();
    });
  });
  // Clients that do not read their answers; the longest poll is much shorter.
  return server.setTimeout(300_000);
}

async function handle(service: Service, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const [call, received] = await read(service, request);
    // From here on, what is not finished at once counts as pending.
    service.futures.giveBack(call.owner, received);
    send(response, 200, await answer(service, request.method ?? "", call));
  } catch (error) {
    const isGone = request.errored !== null && !(error instanceof Rejection);
    if (isGone) return void response.destroy(); // the client, in the middle of its request
    const rejection = asRejection(error);
    // Not one that is not finished yet.
    if (rejection.status !== 408) service.activity.rejected(rejection.status);
    if (rejection.status === 500) service.activity.failure(error);
    send(response, rejection.status, rejection.body);
  }
}

/** The call, and the bytes that are held for it. */
async function read(
  { options, futures }: Service,
  request: IncomingMessage,
): Promise<readonly [Call, number]> {
  const url = URL.parse(request.url ?? "/", "http://localhost");
  if (url === null) throw new Rejection(400, "The address of the request is not valid.");
  const owner = ownerOf(options, request);
  if (!url.pathname.startsWith(prefix)) throw new Rejection(404, `There is nothing at ${url.pathname}.`);
  const isProto = request.headers["content-type"]?.includes(proto) === true;
  const { requestBytes, jsonBytes } = options.limits;
  const limit = isProto ? requestBytes : Math.min(requestBytes, jsonBytes);
  const held = { bytes: 0 };
  const hold = (bytes: number): void => {
    futures.take(owner, bytes);
    held.bytes += bytes;
  };
  const path = url.pathname.slice(prefix.length);
  const wantsProto = request.headers.accept?.includes(proto) === true;
  const call = { owner, path, query: url.searchParams, isProto, wantsProto };
  try {
    const received = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    const body = await decompressed(request, await bodyOf(received, limit, hold), limit, hold);
    return [{ ...call, body }, held.bytes];
  } catch (error) {
    // A client that still writes when the connection is closed does not see the answer.
    await finished(request.resume()).catch(() => undefined);
    if (error instanceof TooLarge) return [{ ...call, body: error.beginning, problem: error }, held.bytes];
    futures.giveBack(owner, held.bytes);
    throw error;
  }
}

function ownerOf({ keys }: ServerOptions, { headers }: IncomingMessage): string {
  const caller = callerOf(keys, headers);
  if ("owner" in caller) return caller.owner;
  throw new Rejection(caller.status, caller.problem);
}

type Hold = (bytes: number) => void;

async function bodyOf(stream: AsyncIterable<Buffer>, limit: number, hold: Hold): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of stream) {
    length += part.length;
    if (length > limit)
      throw new TooLarge(limit, Buffer.concat([...parts, part]).subarray(0, beginningBytes));
    hold(part.length);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const decompressors = { zstd: createZstdDecompress, gzip: createGunzip } as const;

/** In pieces: what many small bodies grow to at once counts before it is there. */
async function decompressed(
  request: IncomingMessage,
  body: Buffer,
  limit: number,
  hold: Hold,
): Promise<Buffer> {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return body;
  if (!Object.hasOwn(decompressors, encoding))
    throw new Rejection(415, `The encoding ${encoding} is not supported.`);
  const decompress = decompressors[encoding as keyof typeof decompressors]();
  try {
    decompress.end(body);
    return await bodyOf(decompress, limit, hold);
  } catch (error) {
    if (error instanceof Rejection) throw error;
    throw new Rejection(400, `The body is not valid ${encoding}.`);
  }
}

/** More than the number of a request and its model take. */
const beginningBytes = 2048;

class TooLarge extends Rejection {
  /** Of the body, decompressed. */
  readonly beginning: Buffer;

  constructor(limit: number, beginning: Buffer) {
    super(413, `The request is larger than ${limit} bytes; send smaller chunks.`);
    this.beginning = Buffer.from(beginning);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed) return;
  if (body instanceof Readable) {
    response.writeHead(status, { "content-type": "application/x-tar" });
    pipeline(body, response, () => undefined);
    return;
  }
  const isBytes = Buffer.isBuffer(body);
  const bytes = isBytes ? body : Buffer.from(JSON.stringify(body));
  // What is left of a rejected body would otherwise be waited for, and read as the next request.
  const close = [401, 403, 413, 429].includes(status) ? { connection: "close" } : {};
  response.writeHead(status, {
    "content-type": isBytes ? proto : "application/json",
    "content-length": bytes.length,
    ...close,
  });
  response.end(bytes);
}
