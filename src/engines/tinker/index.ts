/** The Tinker protocol on its own (docs/gpu-and-servers.md): the engine, its parts, and the server. */
export { TinkerEngine, type TinkerEngineOptions } from "./tinker-engine.ts";
export { profiles, type Profile, type ProfileName } from "./profiles.ts";
export {
  deleteCheckpoint,
  listCheckpoints,
  Session,
  type Checkpoint,
  type SessionInfo,
  type SessionOptions,
} from "./client/session.ts";
export { RemoteModel, type LossRequest } from "./client/model.ts";
export { Requests, standardRequests, type RequestOptions } from "./client/requests.ts";
export type { Incoming } from "./client/answers.ts";
export { Transport, type Outgoing, type TransportOptions } from "./client/transport.ts";
export { downloadCheckpoint, type DownloadOptions, type Place } from "./archives/download.ts";
export type { LossCall, LossOutput, WireDatum } from "./protocol/forward-backward.ts";
export type { ServerEvent } from "../../calls/activity.ts";
export { startServer, type TinkerServer } from "./server/server.ts";
export { standardLimits, type ServedModel, type ServerLimits, type ServerOptions } from "./server/options.ts";
