/** Saves a policy's weights at its server. What it was made of is kept with the path, for servers that do not say it. */
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { z } from "zod";
import { ServiceError, TroupeError } from "../../errors.ts";
import { adapterSchema, type AdapterOptions } from "../../models/adapter-options.ts";
import type { PolicyInfo, PolicyName, SavedPolicy, SavePlace } from "../engine.ts";
import type { RemoteModel, SaveNotes } from "./client/model.ts";
import type { Profile } from "./profiles.ts";

interface Saved {
  readonly info: PolicyInfo;
  readonly model: RemoteModel;
  readonly version: number;
  readonly origin: Origin;
  readonly server: { readonly owner: PolicyName | null };
}

interface Saving {
  readonly kind: SavedPolicy["kind"];
  readonly profile: Profile;
  /** Name of the run, for people. */
  readonly run: string | undefined;
}

/** The server's name has the version and chance in it: an earlier save may still be referred to. */
export async function savePolicy(
  { info, model, version, origin, server }: Saved,
  place: SavePlace,
  { kind, profile, run }: Saving,
): Promise<SavedPolicy> {
  const unique = `${place.name.replaceAll(/[^\w.-]/g, "-")}-${version}-${randomUUID().slice(0, 8)}`;
  const isForSampling = kind === "snapshot" && profile.loadsSamplerWeights;
  const notes = describing(profile, { run, policy: info.name, step: version });
  const path = await (isForSampling
    ? model.saveWeightsForSampler(unique, notes)
    : model.saveWeights(unique, notes));
  if (profile.savesFolders !== true) checkSaved(path);
  else if (basename(path) !== unique) throw new ServiceError(`The server saved ${unique} as ${path}.`);
  const location = locationOf({
    path: profile.savesFolders === true ? `tinker://${model.id}/weights/${unique}` : path,
    origin: profile.describesWeights ? undefined : origin,
    server: server.owner ?? undefined,
  });
  return { kind, location, version, directory: null };
}

/** Other servers may reject notes. */
function describing(
  { describesWeights, savesFolders = false }: Profile,
  notes: Readonly<Record<string, unknown>>,
): SaveNotes {
  if (savesFolders) return { include_optimizer: true };
  return describesWeights ? { user_metadata: notes } : {};
}

/** A reference that nothing can be restored from must not get into a checkpoint. @throws ServiceError */
function checkSaved(path: string): void {
  if (/^tinker:\/\/[^/#]+\/[^#]+$/.test(path)) return;
  throw new ServiceError(
    `The server says that it saved weights as ${JSON.stringify(path)}; expected tinker://RUN/KIND/NAME.`,
  );
}

export interface Origin {
  /** The recipe's name of the model. */
  readonly model: string;
  readonly adapter: AdapterOptions | null;
}

const details = z.object({
  origin: z
    .object({
      model: z.string(),
      adapter: adapterSchema.nullable(),
    })
    .optional(),
  server: z.string().optional(),
});

export interface Location {
  readonly path: string;
  /** Absent: the server knows it. */
  readonly origin?: Origin | undefined;
  /** The policy at whose own server it is; absent: at the shared one. */
  readonly server?: PolicyName | undefined;
}

/** `tinker://…`, with `#{…}` if there is more to say. */
function locationOf({ path, origin, server }: Location): string {
  if (origin === undefined && server === undefined) return path;
  return `${path}#${encodeURIComponent(JSON.stringify({ origin, server }))}`;
}

/** @throws TroupeError `bad_model` for what another engine saved */
export function readLocation({ location }: Pick<SavedPolicy, "location">): Location {
  const [path = "", more] = location.split("#");
  const found = more === undefined ? {} : readDetails(more);
  if (path.startsWith("tinker://") && found !== null) return { path, ...found };
  throw new TroupeError(
    "bad_model",
    `${JSON.stringify(location)} was not saved by a server of the Tinker protocol.`,
  );
}

/** Null: not understood. */
function readDetails(text: string): Omit<Location, "path"> | null {
  try {
    return details.parse(JSON.parse(decodeURIComponent(text)));
  } catch {
    return null;
  }
}
