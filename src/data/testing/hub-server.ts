/**
 * A hub in this process, over real sockets: the part of the Hugging Face hub's HTTP interface that data sets need, with
 * the faults that tests choose. Large files are on a second origin, as on the real one.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Service } from "../../calls/services.ts";
import type { HubAccess } from "../hub/requests.ts";

export interface HostedFile {
  readonly contents: Buffer;
  /** In large-file storage: listed by SHA-256 and served by the other origin. Default: yes. */
  readonly isLarge?: boolean;
}

export interface HostedDataset {
  readonly files: Readonly<Record<string, HostedFile>>;
  readonly commit?: string;
  /** `configs` of the card. */
  readonly configs?: unknown;
  /** Only this token may read it. */
  readonly token?: string;
  /** By revision, if there are others than `main`. */
  readonly revisions?: Readonly<Record<string, HostedDataset>>;
}

export interface SeenRequest {
  readonly origin: "hub" | "storage";
  readonly path: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
}

/** Answers a request, or returns false and leaves it to the hub. */
export type Fault = (request: SeenRequest, response: ServerResponse, raw: IncomingMessage) => unknown;

export interface TestHub {
  readonly access: HubAccess;
  readonly url: string;
  readonly storageUrl: string;
  readonly seen: SeenRequest[];
  /** Tried in order before the hub answers; tests add and remove them. */
  readonly faults: Fault[];
  readonly datasets: Record<string, HostedDataset>;
  close(): Promise<void>;
}

export const commitOf = (digit: string): string => digit.repeat(40);

export async function startHub(datasets: Record<string, HostedDataset>): Promise<TestHub> {
  const seen: SeenRequest[] = [];
  const faults: Fault[] = [];
  const serve = (origin: SeenRequest["origin"], answer: Answer) =>
    listen((raw, response) => {
      const request = seenOf(origin, raw);
      seen.push(request);
      if (faults.every((fault) => fault(request, response, raw) === false)) answer(request, response);
    });
  const storage = await serve("storage", (request, response) => answerStorage(datasets, request, response));
  const storageUrl = urlOf(storage);
  const hub = await serve("hub", (request, response) => answerHub(datasets, storageUrl, request, response));
  const url = urlOf(hub);
  return {
    access: testAccess(url),
    url,
    storageUrl,
    seen,
    faults,
    datasets,
    close: async () => {
      for (const server of [hub, storage]) await stop(server);
    },
  };
}

const noSleep = (): Promise<void> => Promise.resolve();

/** With short waits, for fast tests. */
export function testAccess(url: string, token: string | null = null): HubAccess {
  return {
    endpoint: new URL(`${url}/`),
    token,
    isOffline: false,
    retries: { retries: 3, firstDelay: 1, longestDelay: 2, sleep: noSleep },
    service: new Service("hub"),
    longestSilence: 2000,
  };
}

type Answer = (request: SeenRequest, response: ServerResponse) => void;

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return server;
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function seenOf(origin: SeenRequest["origin"], raw: IncomingMessage): SeenRequest {
  const { authorization, range } = raw.headers;
  return { origin, path: raw.url ?? "", authorization, range };
}

function answerHub(
  datasets: Record<string, HostedDataset>,
  storageUrl: string,
  request: SeenRequest,
  response: ServerResponse,
): void {
  const route = /^\/(?:api\/)?datasets\/([^/]+\/[^/]+)\/(revision|tree|resolve)\/([^/?]+)\/?([^?]*)/.exec(
    request.path,
  );
  const [, name = "", verb, revision = "", rest = ""] = (route ?? []).map((part) =>
    decodeURIComponent(part ?? ""),
  );
  const dataset = datasets[name] && atRevision(datasets[name], revision);
  if (dataset === undefined)
    return deny(response, 404, datasets[name] ? "Invalid rev id" : "Repository not found");
  if (dataset.token !== undefined && request.authorization !== `Bearer ${dataset.token}`)
    return deny(response, 401, "Access to this dataset is restricted");
  if (verb === "revision") return json(response, informationOf(name, dataset));
  if (verb === "tree") return json(response, treeOf(dataset));
  const file = dataset.files[rest];
  if (file === undefined) return deny(response, 404, "Entry not found");
  if (file.isLarge === false) return sendFile(file.contents, request, response);
  const target = `${storageUrl}/${encodeURIComponent(name)}/${dataset.commit ?? commitOf("a")}/${rest}?signature=s3cret`;
  response.writeHead(302, { location: target }).end();
}

function answerStorage(
  datasets: Record<string, HostedDataset>,
  request: SeenRequest,
  response: ServerResponse,
): void {
  const [, name = "", commit = "", file = ""] = /^\/([^/]+)\/([^/]+)\/([^?]*)/.exec(request.path) ?? [];
  const owner = datasets[decodeURIComponent(name)];
  const found = (owner && atRevision(owner, commit))?.files[file];
  if (found === undefined) return deny(response, 404, "No such object");
  sendFile(found.contents, request, response);
}

function atRevision(dataset: HostedDataset, revision: string): HostedDataset | undefined {
  const others = Object.values(dataset.revisions ?? {});
  const named = revision === "main" ? dataset : dataset.revisions?.[revision];
  return named ?? [dataset, ...others].find((each) => (each.commit ?? commitOf("a")) === revision);
}

function informationOf(id: string, dataset: HostedDataset): object {
  const cardData = dataset.configs === undefined ? {} : { configs: dataset.configs };
  return { id, sha: dataset.commit ?? commitOf("a"), cardData };
}

function treeOf({ files }: HostedDataset): object[] {
  const folders = new Set(Object.keys(files).flatMap((file) => file.split("/").slice(0, -1)));
  return [
    ...[...folders].map((folder) => ({ type: "directory", path: folder, oid: commitOf("0"), size: 0 })),
    ...Object.entries(files).map(([path, { contents, isLarge = true }]) => ({
      type: "file",
      path,
      size: contents.length,
      oid: gitDigest(contents),
      ...(isLarge && { lfs: { oid: sha256(contents), size: contents.length, pointerSize: 130 } }),
    })),
  ];
}

export function sha256(contents: Buffer): string {
  return createHash("sha256").update(contents).digest("hex");
}

function gitDigest(contents: Buffer): string {
  return createHash("sha1").update(`blob ${contents.length}\0`).update(contents).digest("hex");
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function deny(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "x-error-message": message, "content-type": "application/json" }).end("{}");
}

/** With ranges, as the storage. */
export function sendFile(contents: Buffer, { range }: SeenRequest, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? -1);
  if (from < 0) {
    response.writeHead(200, { "content-length": contents.length }).end(contents);
  } else if (from >= contents.length) {
    response.writeHead(416).end();
  } else {
    const rest = contents.subarray(from);
    const headers = {
      "content-length": rest.length,
      "content-range": `bytes ${from}-${contents.length - 1}/${contents.length}`,
    };
    response.writeHead(206, headers).end(rest);
  }
}
