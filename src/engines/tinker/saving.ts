/** Saves a policy's weights at its server. */
import { randomUUID } from "node:crypto";
import { ServiceError } from "../../errors.ts";
import type { SavedPolicy, SavePlace } from "../engine.ts";
import type { SaveNotes } from "./client/model.ts";
import { locationOf } from "./origins.ts";
import type { Profile } from "./profiles/profile.ts";
import type { PlacedPolicy } from "./servers.ts";

interface Saving {
  readonly kind: SavedPolicy["kind"];
  readonly profile: Profile;
  /** Name of the run, for people. */
  readonly run: string | undefined;
}

/** The server's name has the version and chance in it: an earlier save may still be referred to. */
export async function savePolicy(
  { info, model, version, origin, server }: PlacedPolicy,
  place: SavePlace,
  { kind, profile, run }: Saving,
): Promise<SavedPolicy> {
  const unique = `${place.name.replaceAll(/[^\w.-]/g, "-")}-${version}-${randomUUID().slice(0, 8)}`;
  const isForSampling = kind === "snapshot" && profile.loadsSamplerWeights;
  const notes = describing(profile, { run, policy: info.name, step: version });
  const path = await (isForSampling
    ? model.saveWeightsForSampler(unique, notes)
    : model.saveWeights(unique, notes));
  checkSaved(path);
  const location = locationOf({
    path,
    origin: profile.describesWeights ? undefined : origin,
    server: server.owner ?? undefined,
  });
  return { kind, location, version, directory: null };
}

/** Other servers may reject notes. */
function describing({ describesWeights }: Profile, notes: Readonly<Record<string, unknown>>): SaveNotes {
  return describesWeights ? { user_metadata: notes } : {};
}

/** A reference that nothing can be restored from must not get into a checkpoint. @throws ServiceError */
function checkSaved(path: string): void {
  if (/^tinker:\/\/[^/#]+\/[^#]+$/.test(path)) return;
  throw new ServiceError(
    `The server says that it saved weights as ${JSON.stringify(path)}; expected tinker://RUN/KIND/NAME.`,
  );
}
