/** A server of the Tinker protocol for any engine (docs/gpu-and-servers.md). */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { TroupeError } from "../../../errors.ts";
import type { Engine } from "../../engine.ts";
import { makeDirectory } from "../../../runs/durable.ts";
import { acquireLock } from "../../../runs/lock.ts";
import { checkServerOptions } from "../arguments.ts";
import { httpServer } from "./http.ts";
import { isLocal, type ServerOptions } from "./options.ts";
import { Service } from "./service.ts";

export interface TinkerServer {
  readonly url: string;
  /** What would be lost by `close`. */
  readonly state: () => { readonly models: number; readonly unfinished: number };
  /** Accepts no more work, and resolves once what was asked for is finished and clients that wait have it. */
  drain(): Promise<void>;
  /** Ends connections and frees models; the engine stays open. */
  close(): Promise<void>;
}

/** @throws TroupeError `bad_arguments` for wrong options, a public address without keys, or one that is in use */
export async function startServer(engine: Engine, options: ServerOptions): Promise<TinkerServer> {
  checkServerOptions(options);
  if (options.keys.length === 0 && !isLocal(options.host))
    throw new TroupeError(
      "bad_arguments",
      `Other machines can reach ${options.host}: set keys, or use 127.0.0.1.`,
    );
  await makeDirectory(options.folder, "nothing was started");
  const lock = await acquireLock(options.folder, { name: "folder of weights", instead: "another --folder" });
  try {
    const service = new Service(engine, options);
    return await listen(service, httpServer(service), () => lock.release());
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function listen(service: Service, server: Server, release: () => Promise<void>): Promise<TinkerServer> {
  const { options } = service;
  server.listen(options.port, options.host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new TroupeError(
      "bad_arguments",
      `Cannot listen at ${options.host}:${options.port}: ${String(cause)}; choose another port, 0 for any free one.`,
      { cause },
    );
  }
  const pause = Math.min(10_000, options.limits.sessionMilliseconds, options.limits.turnMilliseconds);
  const timer = setInterval(() => void service.tidy(), pause).unref();
  const reports = setInterval(() => service.activity.report(), 60_000).unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    state: () => ({ models: service.models.size, unfinished: service.futures.unfinished }),
    drain: async () => {
      await service.drain();
      const ended = once(server, "close");
      server.close(); // and connections that wait for nothing
      await Promise.race([ended, setTimeout(1000)]);
    },
    close: async () => {
      clearInterval(timer);
      clearInterval(reports);
      service.activity.report();
      server.close();
      server.closeAllConnections();
      await Promise.all([...service.sessions.keys()].map((id) => service.endSession(id)));
      await release();
    },
  };
}
