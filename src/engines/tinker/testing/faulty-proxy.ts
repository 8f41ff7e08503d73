/** A proxy in front of a server that loses, delays repeats and replaces requests and answers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export type Fault =
  /** The server never sees the request. */
  | "lose request"
  /** The server answers, and the client never sees it. */
  | "lose answer"
  /** The client gets this status, and the server never sees the request. */
  | { readonly status: number }
  | { readonly milliseconds: number }
  /** The client gets the first half of the answer, then the connection breaks. */
  | "half answer"
  /** The client gets something else, with status 200. */
  | "garbled answer"
  /** The server sees the request twice, as after an answer that was lost; the client gets the second answer. */
  | "twice";

export interface ProxyOptions {
  readonly target: string;
  /** The fault of this request, the `index`-th of its path. */
  readonly fault: (path: string, index: number) => Fault | null;
  /** Replaces answers, as JSON. */
  readonly rewrite?: (path: string, answer: object) => object;
}

export interface Proxy {
  readonly url: string;
  /** Faults so far. */
  readonly faults: () => number;
  close(): void;
}

export async function startProxy({ target, fault, rewrite }: ProxyOptions): Promise<Proxy> {
  const counts = new Map<string, number>();
  let faults = 0;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = (request.url ?? "").replace("/api/v1/", "");
    const index = counts.get(path) ?? 0;
    counts.set(path, index + 1);
    const parts: Buffer[] = [];
    for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    const own = fault(path, index);
    if (own !== null) faults += 1;
    if (own === "lose request") return void response.destroy();
    if (own !== null && typeof own === "object" && "status" in own)
      return void response.writeHead(own.status, { "content-type": "text/plain" }).end("");
    if (own !== null && typeof own === "object") await delay(own.milliseconds);
    const { method = "GET", headers: given } = request;
    // Of this connection; those of the next one are its own.
    const { connection: _, "transfer-encoding": __, "content-length": ___, ...headers } = given;
    const ask = async () => {
      const answer = await fetch(new URL(request.url ?? "", target), {
        method,
        headers: { ...(headers as Record<string, string>), host: new URL(target).host },
        ...(method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(parts) }),
        redirect: "manual",
      });
      return { answer, body: Buffer.from(await answer.arrayBuffer()) };
    };
    if (own === "twice") await ask();
    const { answer, body } = await ask();
    if (own === "lose answer") return void response.destroy();
    if (own === "garbled answer") return void response.writeHead(200).end("<html>Please sign in.</html>");
    if (own === "half answer") {
      response.writeHead(answer.status, { "content-length": body.length });
      return void response.write(body.subarray(0, body.length / 2), () => response.destroy());
    }
    const { "content-type": type = "", ...others } = Object.fromEntries(answer.headers);
    for (const name of ["connection", "content-encoding", "content-length", "transfer-encoding"])
      delete others[name];
    const isRewritten = rewrite !== undefined && type.includes("json");
    const sent = isRewritten ? JSON.stringify(rewrite(path, JSON.parse(body.toString()) as object)) : body;
    response.writeHead(answer.status, { ...others, "content-type": type }).end(sent);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults: () => faults,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
