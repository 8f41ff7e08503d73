/** Sampling sessions: what each samples from, and snapshots in the engine's memory. */
import type { Engine, PolicyName, StoredPolicy } from "../../engine.ts";
import type { Model } from "./models.ts";
import type { ServedModel, ServerLimits } from "./options.ts";
import { Rejection } from "./problems.ts";

export type Source =
  | { readonly kind: "base" }
  /** The model's current weights. */
  | { readonly kind: "live"; readonly model: Model }
  /** `model` and `changes`: the model it was saved from, which still has these weights until it changes. */
  | {
      readonly kind: "saved";
      readonly path: string;
      readonly stored: StoredPolicy;
      readonly model?: Model;
      readonly changes?: number;
      /** Nobody else knows of these weights: they go with the session. */
      readonly isEphemeral?: boolean;
    };

export interface Sampler {
  readonly id: string;
  readonly owner: string;
  readonly session: string;
  readonly base: ServedModel;
  readonly source: Source;
}

export class Samplers {
  readonly #engine: Engine;
  readonly #limits: Pick<ServerLimits, "loadedSamplers">;
  readonly #isLoaded: (model: Model) => boolean;
  readonly #samplers = new Map<string, Sampler>();
  /** Policies by what they were loaded from, least recently used first. */
  readonly #loaded = new Map<string, Promise<PolicyName>>();

  constructor(
    engine: Engine,
    limits: Pick<ServerLimits, "loadedSamplers">,
    isLoaded: (model: Model) => boolean,
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#isLoaded = isLoaded;
  }

  add(sampler: Sampler): void {
    this.#samplers.set(sampler.id, sampler);
  }

  /** @throws Rejection 404 */
  get(id: string, owner: string): Sampler {
    const sampler = this.#samplers.get(id);
    if (sampler === undefined || sampler.owner !== owner)
      throw new Rejection(
        404,
        `There is no sampling session ${id}: it ended, gave way to newer ones, or was lost when the server restarted.`,
      );
    this.#samplers.delete(id); // to the end: the one used last
    this.#samplers.set(id, sampler);
    return sampler;
  }

  /** Used last at the end. */
  ofOwner(owner: string): readonly Sampler[] {
    return [...this.#samplers.values()].filter((sampler) => sampler.owner === owner);
  }

  /** Used last at the end. */
  ofSession(session: string): readonly Sampler[] {
    return [...this.#samplers.values()].filter((sampler) => sampler.session === session);
  }

  remove(id: string): void {
    this.#samplers.delete(id);
  }

  /**
   * Calls `use` with the policy to sample from: at once, before any later verb, if it is in memory as a model.
   * @throws Rejection 410 if the model is gone
   */
  async with<T>({ base, source }: Sampler, use: (policy: PolicyName) => Promise<T>): Promise<T> {
    if (source.kind === "live") {
      if (!this.#isLoaded(source.model))
        throw new Rejection(410, `The model ${source.model.id} was unloaded.`);
      return use(source.model.id);
    }
    if (source.kind === "saved") {
      const { model, changes } = source;
      if (model !== undefined && this.#isLoaded(model) && model.changes === changes) return use(model.id);
      return use(await this.#load(source.path, source.stored));
    }
    return use(await this.#load(`base:${base.name}`, base.directory));
  }

  async #load(key: string, model: string | StoredPolicy): Promise<PolicyName> {
    const name = `sampler ${key}`;
    const loading = this.#loaded.get(key) ?? this.#create(key, name, model);
    this.#loaded.delete(key);
    this.#loaded.set(key, loading);
    return loading;
  }

  async #create(key: string, name: PolicyName, model: string | StoredPolicy): Promise<PolicyName> {
    try {
      await this.#makeRoom();
      await this.#engine.createPolicy({ name, model });
      return name;
    } catch (error) {
      this.#loaded.delete(key);
      throw error;
    }
  }

  /** Removing waits for samples that were asked for before. */
  async #makeRoom(): Promise<void> {
    const [oldest] = this.#loaded;
    if (oldest === undefined || this.#loaded.size < this.#limits.loadedSamplers) return;
    this.#loaded.delete(oldest[0]);
    const name = await oldest[1].catch(() => null);
    if (name !== null) await this.#engine.removePolicy(name);
  }
}
