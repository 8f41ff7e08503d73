/** The server's sampling sessions: what each samples from, and which of these weights are in the engine's memory. */
import { TroupeError } from "../../../errors.ts";
import type { Engine, PolicyName, StoredPolicy } from "../../engine.ts";
import { Rejection } from "./call.ts";
import type { Model } from "./models.ts";
import type { ServedModel, ServerLimits } from "./options.ts";

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

/** Weights in the engine's memory. */
interface Loaded {
  readonly policy: Promise<PolicyName>;
  /** Requests that sample from it, or wait for it. */
  users: number;
  /** Once no request uses it. */
  readonly unused: PromiseWithResolvers<void>;
  isEvicted: boolean;
}

export class Samplers {
  readonly #engine: Engine;
  readonly #limits: Pick<ServerLimits, "loadedSamplers">;
  readonly #isLoaded: (model: Model) => boolean;
  readonly #isKept: (path: string, folder: string) => boolean;
  readonly #samplers = new Map<string, Sampler>();
  /** By content: a path leads to other weights after each save, and those are in another folder. Least recently used first. */
  readonly #loaded = new Map<string, Loaded>();
  #loads = 0;

  constructor(
    engine: Engine,
    limits: Pick<ServerLimits, "loadedSamplers">,
    isLoaded: (model: Model) => boolean,
    isKept: (path: string, folder: string) => boolean,
  ) {
    this.#engine = engine;
    this.#limits = limits;
    this.#isLoaded = isLoaded;
    this.#isKept = isKept;
  }

  add(sampler: Sampler): void {
    this.#samplers.set(sampler.id, sampler);
  }

  has(id: string): boolean {
    return this.#samplers.has(id);
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
   * @throws Rejection 410 if the model is gone, TroupeError `bad_model` if the weights are
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
      return this.#withSaved(source.path, source.stored, use);
    }
    return this.#using(base.directory, base.directory, use);
  }

  async #withSaved<T>(
    path: string,
    stored: StoredPolicy,
    use: (policy: PolicyName) => Promise<T>,
  ): Promise<T> {
    const check = (): void => {
      if (this.#isKept(path, stored.folder)) return;
      throw new TroupeError("bad_model", `The weights ${path} of this sampler were replaced or removed.`);
    };
    check();
    let isLoaded = false;
    try {
      return await this.#using(keyOf(path, stored.folder), stored, (policy) => {
        isLoaded = true;
        return use(policy);
      });
    } catch (error) {
      // Removed while they waited for room; the engine's error would name a folder that clients do not know.
      if (!isLoaded) check();
      throw error;
    }
  }

  /** Weights that were replaced or removed. Resolves once the requests before are answered and their memory is free. */
  async evict(path: string, folder: string): Promise<void> {
    const key = keyOf(path, folder);
    const loaded = this.#loaded.get(key);
    if (loaded !== undefined) await this.#remove(key, loaded);
  }

  async #using<T>(
    key: string,
    model: string | StoredPolicy,
    use: (policy: PolicyName) => Promise<T>,
  ): Promise<T> {
    const loaded = this.#loaded.get(key) ?? this.#load(key, model);
    this.#loaded.delete(key); // to the end: the one used last
    this.#loaded.set(key, loaded);
    loaded.users += 1;
    try {
      return await use(await loaded.policy);
    } finally {
      loaded.users -= 1;
      if (loaded.isEvicted && loaded.users === 0) loaded.unused.resolve();
    }
  }

  #load(key: string, model: string | StoredPolicy): Loaded {
    const [oldest] = this.#loaded.size < this.#limits.loadedSamplers ? [] : this.#loaded;
    const create = async (): Promise<PolicyName> => {
      if (oldest !== undefined) await this.#remove(...oldest);
      // The same weights may be on their way out of memory: no two policies have one name.
      const name = `sampler ${(this.#loads += 1)} ${key}`;
      await this.#engine.createPolicy({ name, model });
      return name;
    };
    const policy = create();
    const loaded = { policy, users: 0, unused: Promise.withResolvers<void>(), isEvicted: false };
    policy.catch(() => {
      if (this.#loaded.get(key) === loaded) this.#loaded.delete(key);
    });
    return loaded;
  }

  /** Those that wait for it sample first; later requests load it again. */
  async #remove(key: string, loaded: Loaded): Promise<void> {
    this.#loaded.delete(key);
    loaded.isEvicted = true;
    if (loaded.users === 0) loaded.unused.resolve();
    await loaded.unused.promise;
    const name = await loaded.policy.catch(() => null);
    if (name !== null) await this.#engine.removePolicy(name);
  }
}

function keyOf(path: string, folder: string): string {
  return `${path} in ${folder}`;
}
