/** Sampling sessions of a policy's weights: of the current ones, and of copies that later steps do not change. */
import { randomUUID } from "node:crypto";
import { deleteCheckpoint } from "./client/checkpoints.ts";
import type { Sampler } from "./policies.ts";
import type { Profile } from "./profiles/profile.ts";
import type { PlacedPolicy } from "./servers.ts";

/** Seconds that a copy lives at most: longer than a batch is sampled. */
const longestCopy = 7 * 24 * 3600;

export interface SamplerCopy {
  readonly sampler: Sampler;
  readonly release: () => Promise<void>;
}

export class Publisher {
  readonly #profile: Profile;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** Of the current weights, which are published if they were not yet. */
  sampler(policy: PlacedPolicy, onSubmitted?: () => void): Promise<Sampler> {
    const kind = this.#profile.snapshots === "inflight" ? "inflight" : "snapshot";
    policy.sampler ??= publish(policy, kind, onSubmitted).catch((error: unknown) => {
      policy.sampler = null;
      throw error;
    });
    return policy.sampler;
  }

  /** Samples will ask for it, and try again if it fails. */
  publishNow(policy: PlacedPolicy, onSubmitted: () => void): void {
    policy.isSampled = false;
    void this.sampler(policy, onSubmitted).catch(() => onSubmitted());
  }

  /** A server of Troupe keeps what it saved until it is deleted; others end such weights with the session. */
  async copy(policy: PlacedPolicy): Promise<SamplerCopy> {
    if (this.#profile.snapshots !== "inflight")
      return { sampler: await publish(policy, "snapshot"), release: async () => undefined };
    const { session } = policy.server;
    const policyName = policy.info.name.replaceAll(/[^\w.-]/g, "-");
    const name = `${policyName}-${policy.version}-copy-${randomUUID().slice(0, 8)}`;
    // A client that is killed does not delete it.
    const { id, path } = await policy.model.savedSampler(name, { ttl_seconds: longestCopy });
    return {
      sampler: { id, completions: session.completionsOf(id) },
      release: () => deleteCheckpoint(session, path),
    };
  }
}

async function publish(
  { model, server }: PlacedPolicy,
  kind: "inflight" | "snapshot",
  onSubmitted?: () => void,
): Promise<Sampler> {
  const id = await model.sampler(kind, onSubmitted);
  return { id, completions: server.session.completionsOf(id) };
}
