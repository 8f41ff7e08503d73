/**
 * Trajectories of programs that drive themselves, kept as they end. A program may take minutes and money, and need not do
 * the same again: after an interruption only those are played that had not ended. What a failure of ours broke off has
 * not ended.
 */
import { promisify } from "node:util";
import { constants, zstdCompress, zstdDecompress } from "node:zlib";
import { z } from "zod";
import type { Json } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { asJson } from "../runs/episode-log.ts";
import { decodeEpisode, encodeEpisode } from "./codec.ts";
import type { Episode } from "./episode.ts";

export interface EndedTrajectories {
  /** Null: it has not ended yet. */
  get(place: TrajectoryPlace): Promise<Episode | null>;
  /** Resolves once it is on disk. @param episode with this trajectory only */
  put(place: TrajectoryPlace, episode: Episode): Promise<void>;
}

export interface TrajectoryPlace {
  /** The episode's id. */
  readonly episode: string;
  readonly task: Json;
  /** Number of the trajectory in the episode. */
  readonly trajectory: number;
}

const packedSchema = z.object({
  episode: z.unknown(),
  prompts: z.record(z.string(), z.array(z.int())),
});

const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)];

/** Without it, a changed byte may be read as another reward. */
const summed = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };

/** Exact, and small although each prompt repeats the one before it. */
export async function packed(episode: Episode): Promise<string> {
  const { json, prompts } = encodeEpisode(episode);
  const tokens = Object.fromEntries([...prompts].map(([hash, prompt]) => [hash, [...prompt]]));
  return (await compress(asJson({ episode: json, prompts: tokens }), summed)).toString("base64");
}

/** @param where for messages @throws TroupeError `bad_run` */
export async function unpacked(text: string, where: string): Promise<Episode> {
  const { episode, prompts } = await contentsOf(text).catch((cause: Error) => {
    const problem = `A trajectory in ${where} is damaged: ${cause.message}`;
    throw new TroupeError("bad_run", `${problem}. Remove the file, so that its program runs again.`, {
      cause,
    });
  });
  const tokens = new Map(Object.entries(prompts).map(([hash, given]) => [hash, Int32Array.from(given)]));
  return decodeEpisode(episode, (hash) => tokens.get(hash), where);
}

async function contentsOf(text: string): Promise<z.output<typeof packedSchema>> {
  const json = await decompress(Buffer.from(text, "base64"));
  return packedSchema.parse(JSON.parse(json.toString("utf8")));
}
