/** Saved weights that a server keeps: where they are, copies of them, and their end. */
import type { AdapterOptions } from "../models/adapter-options.ts";
import { adapterParameters, describeModel, modelTensors, parametersOf } from "../models/model-directory.ts";
import type { SavedPolicy } from "./engine.ts";
import type { EngineSettings } from "./settings.ts";
import { downloadCheckpoint, type DownloadOptions } from "./tinker/archives/download.ts";
import { deleteCheckpoint, listCheckpoints } from "./tinker/client/checkpoints.ts";
import { Session } from "./tinker/client/session.ts";
import { readLocation } from "./tinker/origins.ts";
import { profiles } from "./tinker/profiles/profiles.ts";

export interface RemoteWeights {
  /** `tinker://RUN/KIND/NAME` */
  readonly path: string;
  readonly url: string;
}

/** Null: the engine keeps them on this machine. */
export function remoteWeights(settings: EngineSettings, saved: SavedPolicy): RemoteWeights | null {
  if (settings.type !== "tinker") return null;
  const { path, server } = readLocation(saved);
  return { path, url: (server === undefined ? undefined : settings.servers[server]) ?? settings.url };
}

/** A model's or adapter's directory for other programs. @throws TroupeError, see `downloadCheckpoint` */
export async function downloadWeights(
  settings: EngineSettings,
  { path, url }: RemoteWeights,
  directory: string,
  options?: DownloadOptions,
): Promise<void> {
  await downloadCheckpoint({ url, key: keyOf(settings) }, path, directory, options);
}

/** Weights and two moments in float32, and as much again; besides, tokenizers and headers. */
const bytesPerParameter = 2 * 3 * 4;
const otherBytes = 2 ** 28;

/**
 * What saved weights can have at most. @param model a directory @param adapter absent: the whole model
 * @throws TroupeError `bad_model`
 */
export async function mostBytesOf(
  settings: EngineSettings,
  model: string,
  adapter?: Pick<AdapterOptions, "rank" | "targetModules">,
): Promise<number> {
  const tensors = modelTensors((await describeModel(model)).shape);
  // SkyRL saves the model with its adapters.
  const isWhole =
    adapter === undefined || (settings.type === "tinker" && settings.profile.startsWith("skyrl"));
  const parameters = isWhole ? parametersOf(tensors) : adapterParameters(tensors, adapter);
  return otherBytes + bytesPerParameter * parameters;
}

export async function deleteWeights(settings: EngineSettings, { path, url }: RemoteWeights): Promise<void> {
  await asking(settings, url, (session) => deleteCheckpoint(session, path));
}

/** Those that the servers still have. @throws TroupeError if one cannot be asked, or does not say */
export async function stillKept<T extends RemoteWeights>(
  settings: EngineSettings,
  all: readonly T[],
): Promise<readonly T[]> {
  const found: T[] = [];
  for (const [url, weights] of Map.groupBy(all, (each) => each.url)) {
    const runs = new Set(weights.map(({ path }) => runOf(path)));
    const paths = await asking(settings, url, async (session) => {
      const lists = await Promise.all([...runs].map((run) => listCheckpoints(session, run)));
      return new Set(lists.flat().map(({ path }) => path));
    });
    found.push(...weights.filter(({ path }) => paths.has(path)));
  }
  return all.filter((each) => found.includes(each));
}

function runOf(path: string): string {
  return /^tinker:\/\/([^/]+)/.exec(path)?.[1] ?? "";
}

async function asking<T>(
  settings: EngineSettings,
  url: string,
  ask: (session: Session) => Promise<T>,
): Promise<T> {
  const { chunkData, chunkBytes } = profiles[settings.type === "tinker" ? settings.profile : "troupe"];
  const session = new Session({ url, key: keyOf(settings), chunkData, chunkBytes });
  try {
    return await ask(session);
  } finally {
    await session.close();
  }
}

function keyOf(settings: EngineSettings): string | undefined {
  return settings.type === "tinker" ? process.env[settings.keyVariable] : undefined;
}
