/** A server of the Tinker protocol for any engine (docs/gpu-and-servers.md). */
import { once } from "node:events";
import type { Server } from "node:http";
import { setTimeout } from "node:timers/promises";
import { checkReach, listenAt } from "../../../calls/listen.ts";
import type { Engine } from "../../engine.ts";
import { makeDirectory } from "../../../runs/durable.ts";
import { acquireLock } from "../../../runs/lock.ts";
import { checkServerOptions } from "../arguments.ts";
import { httpServer } from "./http.ts";
import type { ServerOptions } from "./options.ts";
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
  checkReach(options);
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
  const url = await listenAt(server, options);
  const pause = Math.min(10_000, options.limits.sessionMilliseconds, options.limits.turnMilliseconds);
  const timer = setInterval(() => void service.tidy(), pause).unref();
  const reports = setInterval(() => service.activity.report(), 60_000).unref();
  return {
    url,
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
