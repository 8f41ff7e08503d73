/** The engine `tinker` for recipes: its settings, how it is opened, and the saved weights that its servers keep. */
import { z } from "zod";
import {
  adapterParameters,
  describeModel,
  modelTensors,
  parametersOf,
} from "../../models/model-directory.ts";
import type { EngineKind, RemoteWeights, ServerWeights } from "../kind.ts";
import { downloadCheckpoint } from "./archives/download.ts";
import { deleteCheckpoint, listCheckpoints, Session } from "./client/session.ts";
import { isNative } from "./losses.ts";
import { profiles, type Profile, type ProfileName } from "./profiles.ts";
import { readLocation } from "./saving.ts";
import { TinkerEngine } from "./tinker-engine.ts";

const address = z.url({ protocol: /^https?$/, error: "expected http(s)://HOST:PORT" });

export const tinkerSettings = z.strictObject({
  type: z.literal("tinker").describe("tinker: a server of the Tinker protocol."),
  url: address.describe("Address of the server, without `/api/v1`."),
  profile: z.enum(Object.keys(profiles) as [ProfileName, ...ProfileName[]]).describe("The kind of server."),
  models: z
    .record(z.string(), z.string())
    .default({})
    .describe("The server's names of models, by the recipe's; a directory's own name need not be listed."),
  servers: z
    .record(z.string(), address)
    .default({})
    .describe("Addresses of policies with a server of their own, of the same profile."),
  keyVariable: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, "expected the name of an environment variable")
    .default("TINKER_API_KEY")
    .describe("Environment variable with the key."),
  connections: z
    .int()
    .min(1)
    .max(1024)
    .default(64)
    .describe("Connections, of submissions and of polls each."),
});

export type TinkerSettings = z.output<typeof tinkerSettings>;

export const tinkerKind = {
  options: tinkerSettings,
  capabilities: (settings) => profileOf(settings).capabilities,
  open: ({ profile, keyVariable, ...settings }, options) => {
    const key = process.env[keyVariable];
    return new TinkerEngine({ ...settings, ...options, profile: profiles[profile], key });
  },
  variant: ({ profile }) => ` with the profile \`${profile}\``,
  warnings: (settings) => {
    if (profileOf(settings).ran) return [];
    const problem = `\`${settings.profile}\` was never run against a server of this kind; it follows the server's sources`;
    return [{ key: "profile", problem, fix: "try a step before a long run, with train.steps=1" }];
  },
  // The linear surrogate of a loss starts from log-probabilities.
  needsForward: (settings, loss) => {
    const profile = profileOf(settings);
    return profile.data === "plain" && !isNative(loss, profile);
  },
  servers: (settings) => ({
    startedBy: profileOf(settings).startedBy,
    software: settings.profile,
    policies: Object.keys(settings.servers),
    urlOf: (policy) => settings.servers[policy] ?? settings.url,
    modelName: (directory) => settings.models[directory] ?? directory,
    weights: serverWeights(settings),
  }),
} satisfies EngineKind<TinkerSettings>;

function profileOf({ profile }: Pick<TinkerSettings, "profile">): Profile {
  return profiles[profile];
}

/** Weights and two moments in float32, and as much again; besides, tokenizers and headers. */
const bytesPerParameter = 2 * 3 * 4;
const otherBytes = 2 ** 28;

function serverWeights(settings: TinkerSettings): ServerWeights {
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
