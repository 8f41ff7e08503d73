/** Saved weights that servers of the protocol keep: where they are, copies of them, and their end. */
import {
  adapterParameters,
  describeModel,
  modelTensors,
  parametersOf,
} from "../../models/model-directory.ts";
import type { RemoteWeights, ServerWeights } from "../kind.ts";
import { downloadCheckpoint } from "./archives/download.ts";
import { deleteCheckpoint, listCheckpoints } from "./client/checkpoints.ts";
import { Session } from "./client/session.ts";
import { readLocation } from "./origins.ts";
import type { Profile } from "./profiles/profile.ts";
import { profiles } from "./profiles/profiles.ts";
import type { TinkerSettings } from "./settings.ts";

/** Weights and two moments in float32, and as much again; besides, tokenizers and headers. */
const bytesPerParameter = 2 * 3 * 4;
const otherBytes = 2 ** 28;

export function serverWeights(settings: TinkerSettings): ServerWeights {
  const { savesWithModel = false }: Profile = profiles[settings.profile];
  return {
    locate: (saved) => {
      const { path, server } = readLocation(saved);
      return { path, url: (server === undefined ? undefined : settings.servers[server]) ?? settings.url };
    },
    download: ({ url, path }, directory, options) =>
      downloadCheckpoint({ url, key: keyOf(settings) }, path, directory, options),
    mostBytes: async (model, adapter) => {
      const tensors = modelTensors((await describeModel(model)).shape);
      const isWhole = adapter === undefined || savesWithModel;
      const parameters = isWhole ? parametersOf(tensors) : adapterParameters(tensors, adapter);
      return otherBytes + bytesPerParameter * parameters;
    },
    delete: ({ url, path }) => asking(settings, url, (session) => deleteCheckpoint(session, path)),
    stillKept: (all) => stillKept(settings, all),
  };
}

async function stillKept<T extends RemoteWeights>(
  settings: TinkerSettings,
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
  settings: TinkerSettings,
  url: string,
  ask: (session: Session) => Promise<T>,
): Promise<T> {
  const { chunkData, chunkBytes } = profiles[settings.profile];
  const session = new Session({ url, key: keyOf(settings), chunkData, chunkBytes });
  try {
    return await ask(session);
  } finally {
    await session.close();
  }
}

function keyOf({ keyVariable }: TinkerSettings): string | undefined {
  return process.env[keyVariable];
}
