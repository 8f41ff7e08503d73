/** A server of the page that answers from an export, for tests of what only a live page does. */
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { listenAt } from "../../calls/listen.ts";
import type { Change, ContinueEvent, ContinueRequest, Export } from "../api.ts";
import { pageHtml } from "../bundle.ts";
import { answerFrom } from "../page/exported.ts";

export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Paths that the page asked for, in order. */
  readonly asked: string[];
  readonly send: (change: Change) => void;
}

/** @param data as it is when a path is asked for; what it throws is answered as a failure */
export async function servePage(
  data: (path: string) => Export,
  play: (request: ContinueRequest) => readonly ContinueEvent[] = () => [],
): Promise<PageServer> {
  const asked: string[] = [];
  const listening: ServerResponse[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    if (path === "/") {
      void pageHtml().then((html) => response.setHeader("content-type", "text/html").end(html));
    } else if (path === "/api/changes") {
      response.setHeader("content-type", "text/event-stream").flushHeaders();
      listening.push(response);
    } else if (request.method === "POST") {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        for (const event of play(JSON.parse(body) as ContinueRequest))
          response.write(`${JSON.stringify(event)}\n`);
        response.end();
      });
    } else {
      asked.push(path);
      answer(response, () => answerFrom(data(path), path));
    }
  });
  return {
    url: await listenAt(server, { host: "127.0.0.1", port: 0 }),
    asked,
    send: (change) => {
      for (const response of listening) response.write(`data: ${JSON.stringify(change)}\n\n`);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answer(response: ServerResponse, of: () => unknown): void {
  try {
    response.end(JSON.stringify(of()));
  } catch (error) {
    response.writeHead(500).end(JSON.stringify({ error: (error as Error).message }));
  }
}
