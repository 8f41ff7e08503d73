/** Servers of ours: where they listen, and whom they answer. */
import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { TroupeError } from "../errors.ts";

/** Whether only programs of this machine reach the address. */
export function isLocal(host: string): boolean {
  return ["127.0.0.1", "localhost", "::1"].includes(host);
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any. */
  readonly port: number;
  /** Empty: none is needed, and only this machine may connect. */
  readonly keys: readonly string[];
}

/** @throws TroupeError `bad_arguments` for an address that other machines reach, without keys */
export function checkReach({ host, keys }: Pick<ListenOptions, "host" | "keys">): void {
  if (keys.length > 0 || isLocal(host)) return;
  throw new TroupeError("bad_arguments", `Other machines can reach ${host}: set keys, or use 127.0.0.1.`);
}

/** Returns the server's URL. @throws TroupeError `bad_arguments` if the address is in use, or not this machine's */
export async function listenAt(
  server: Server,
  { host, port }: Pick<ListenOptions, "host" | "port">,
): Promise<string> {
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    const problem = problems[(cause as NodeJS.ErrnoException).code ?? ""] ?? (cause as Error).message;
    throw new TroupeError(
      "bad_arguments",
      `Cannot listen at ${host}:${port}: ${problem}. Choose another port, 0 for any free one.`,
      { cause },
    );
  }
  const { port: found } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${found}`;
}

const problems: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program uses this port",
  EACCES: "this port is reserved for the system",
  EADDRNOTAVAIL: "this machine does not have the address",
};

/** Who asks; or the status and the reason with which the request is rejected. */
type Caller =
  | {
      /** A hash of the key. */
      readonly owner: string;
    }
  | { readonly status: 401 | 403; readonly problem: string };

/** Without keys, names of other hosts are rejected: a web page could send them. */
export function callerOf(keys: readonly string[], headers: IncomingHttpHeaders): Caller {
  if (keys.length === 0) {
    const host = (headers.host ?? "").replace(/:\d+$/, "");
    if (["localhost", "127.0.0.1", "[::1]"].includes(host) && headers.origin === undefined)
      return { owner: "local" };
    return { status: 403, problem: "Without keys, this server answers only programs on its own machine." };
  }
  const sent = headers["x-api-key"] ?? /^Bearer (.+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
  const given = digest(String(sent));
  if (keys.some((key) => timingSafeEqual(digest(key), given)))
    return { owner: given.toString("hex").slice(0, 16) };
  const where = "the header X-API-Key, or in Authorization after Bearer";
  return { status: 401, problem: `The key is missing or wrong; send it in ${where}.` };
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
