/** An engine for clients of the Tinker protocol. */
export { startServer as serveEngine, type TinkerServer } from "./tinker/server/server.ts";
export type { ServerEvent } from "./tinker/server/activity.ts";
export { isLocal, standardLimits, type ServedModel, type ServerOptions } from "./tinker/server/options.ts";
