/** An engine for clients of the Tinker protocol. */
export { startServer as serveEngine, type TinkerServer } from "./tinker/server/server.ts";
export { standardLimits, type ServedModel, type ServerOptions } from "./tinker/server/options.ts";
