/** A proxy that passes each request on after a delay. */
import { once } from "node:events";
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface SlowNetwork {
  readonly url: string;
  close(): void;
}

export async function slowNetwork(target: string, milliseconds: number): Promise<SlowNetwork> {
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await delay(milliseconds);
    const { method = "GET", headers, url = "" } = request;
    const passed = send(new URL(url, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  };
  const server = createServer((request, response) => void pass(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
