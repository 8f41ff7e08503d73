/** The server's options and their defaults. */
import type { ServerEvent } from "../../../calls/activity.ts";
import type { ListenOptions } from "../../../calls/listen.ts";
import type { FutureLimits } from "./futures.ts";

export interface ServedModel {
  /** What clients call it. */
  readonly name: string;
  readonly directory: string;
}

export interface ServerLimits extends FutureLimits {
  /** Of one request, before and after decompression. */
  readonly requestBytes: number;
  /** Of one request in JSON, which takes several times its size once it is read. */
  readonly jsonBytes: number;
  /** Of one owner. */
  readonly sessions: number;
  readonly models: number;
  /** Sampling sessions of one owner that are known: the ones used last. */
  readonly samplers: number;
  /** Saved weights of one owner, in bytes. */
  readonly savedBytes: number;
  /** Data in one forward_backward. */
  readonly chunkData: number;
  readonly chunkBytes: number;
  /** Snapshots of all owners that are in memory for sampling. */
  readonly loadedSamplers: number;
  /** Weights without a name, of one session's samplers, that are kept on disk: the ones used last. */
  readonly unnamedWeights: number;
  /** After the last heartbeat, a session ends. */
  readonly sessionMilliseconds: number;
  /** How long a model's requests wait for one with an earlier number that does not arrive. */
  readonly turnMilliseconds: number;
  /** How long an unfinished future is waited for in one request. */
  readonly pollMilliseconds: number;
}

export const standardLimits: ServerLimits = {
  resultBytes: 2 ** 29,
  pending: 20_000,
  pendingBytes: 2 ** 30,
  requestBytes: 2 ** 28,
  jsonBytes: 2 ** 25,
  sessions: 100,
  models: 50,
  samplers: 10_000,
  savedBytes: Infinity,
  chunkData: 16_384,
  chunkBytes: 2 ** 24,
  loadedSamplers: 4,
  unnamedWeights: 32,
  sessionMilliseconds: 300_000,
  turnMilliseconds: 300_000,
  pollMilliseconds: 20_000,
};

export interface ServerOptions extends ListenOptions {
  readonly models: readonly ServedModel[];
  /** For saved weights. */
  readonly folder: string;
  readonly limits: ServerLimits;
  /** For the person who runs the server: requests once a minute, everything else as it happens. */
  readonly log: (event: ServerEvent) => void;
}
