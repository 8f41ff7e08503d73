/** Models in training: each is a policy of the engine with the model's identifier as its name. */
import { randomInt } from "node:crypto";
import type { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import type { AdapterOptions } from "../../../models/adapter-options.ts";
import type { Engine, PolicyInfo, PolicyOptions } from "../../engine.ts";
import type { loraConfig, Metadata } from "../protocol/schema.ts";
import { Rejection } from "./call.ts";
import type { ServedModel } from "./options.ts";

export interface Model {
  readonly id: string;
  readonly owner: string;
  readonly session: string;
  readonly base: ServedModel;
  readonly adapter: AdapterOptions | null;
  readonly critic: boolean;
  readonly turns: Turns;
  /** Verbs submitted so far that change the weights. */
  changes: number;
  /** As given by the client. */
  readonly metadata: Metadata;
  /** Milliseconds since 1970. */
  lastRequest: number;
  /** Null until it is created. */
  info: PolicyInfo | null;
}

export class Models {
  readonly #engine: Engine;
  readonly #served: ReadonlyMap<string, ServedModel>;
  readonly #limit: number;
  readonly #models = new Map<string, Model>();

  constructor(engine: Engine, served: readonly ServedModel[], limit: number) {
    this.#engine = engine;
    this.#served = new Map(served.map((model) => [model.name, model]));
    this.#limit = limit;
  }

  /** @throws TroupeError `bad_model` */
  served(name: string): ServedModel {
    const model = this.#served.get(name);
    if (model !== undefined) return model;
    const known = [...this.#served.keys()].join(", ");
    throw new TroupeError(
      "bad_model",
      `There is no model ${JSON.stringify(name)}; this server has: ${known}.`,
    );
  }

  /** @throws Rejection 404 */
  get(id: string, owner: string): Model {
    const model = this.find(id);
    if (model !== undefined && model.owner === owner) {
      model.lastRequest = Date.now();
      return model;
    }
    throw new Rejection(404, `There is no model ${id}; it was unloaded, or the server was restarted.`);
  }

  find(id: string): Model | undefined {
    return this.#models.get(id);
  }

  get size(): number {
    return this.#models.size;
  }

  all(): readonly Model[] {
    return [...this.#models.values()];
  }

  ofOwner(owner: string): readonly Model[] {
    return [...this.#models.values()].filter((model) => model.owner === owner);
  }

  ofSession(session: string): readonly Model[] {
    return [...this.#models.values()].filter((model) => model.session === session);
  }

  /** @throws TroupeError `bad_arguments` beyond the owner's limit */
  checkRoom(owner: string): void {
    const count = this.ofOwner(owner).length;
    if (count >= this.#limit)
      throw new TroupeError(
        "bad_arguments",
        `${count} models are loaded; the limit is ${this.#limit}. Unload one.`,
      );
  }

  async create(
    model: Omit<Model, "turns" | "changes" | "info" | "lastRequest">,
    options: Omit<PolicyOptions, "name">,
  ): Promise<Model> {
    if (this.#models.has(model.id))
      throw new TroupeError("bad_arguments", `The model ${model.id} exists; give another number.`);
    const made: Model = { ...model, turns: new Turns(1), changes: 0, info: null, lastRequest: Date.now() };
    this.#models.set(made.id, made);
    try {
      made.info = await this.#engine.createPolicy({ name: made.id, ...options });
      return made;
    } catch (error) {
      this.#models.delete(made.id);
      throw error;
    }
  }

  async remove(model: Model): Promise<void> {
    this.#models.delete(model.id);
    model.turns.abandon("its model was unloaded");
    await this.#engine.removePolicy(model.id);
  }
}

/** Without Troupe's own fields, the scale is the hosted service's: alpha 32 on all projections of the parts. */
export function adapterOf(lora: z.output<typeof loraConfig>): AdapterOptions {
  const attention = lora.train_attn ? ["q_proj", "k_proj", "v_proj", "o_proj"] : [];
  const layer = lora.train_mlp ? ["gate_proj", "up_proj", "down_proj"] : [];
  return {
    rank: lora.rank,
    alpha: lora.alpha ?? 32,
    targetModules: lora.target_modules ?? [...attention, ...layer],
    seed: lora.seed ?? randomInt(2 ** 31),
  };
}

/**
 * Requests of a model start in the order of their numbers, in whatever order they arrive. A number that never arrives,
 * because a client used it up for a request that it could not send, holds up those after it for a while only.
 */
interface Waiting {
  readonly start: () => void;
  readonly abandon: (why: string) => void;
}

/**
 * Requests of a model start in the order of their numbers, in whatever order they arrive. A number that never arrives,
 * because a client used it up for a request that it could not send, holds up those after it for a while only.
 */
class Turns {
  readonly #waiting = new Map<number, Waiting>();
  #next: number;
  /** Since when the next number is waited for. */
  #since = 0;

  constructor(first: number) {
    this.#next = first;
  }

  isPast(number: number): boolean {
    return number < this.#next;
  }

  /** Calls `start` once all earlier numbers have started, perhaps at once; or `abandon`, if that can no longer happen. */
  take(number: number, start: () => void, abandon: (why: string) => void): void {
    if (this.#waiting.size === 0) this.#since = Date.now();
    this.#waiting.set(number, { start, abandon });
    for (;;) {
      const next = this.#waiting.get(this.#next);
      if (next === undefined) return;
      this.#waiting.delete(this.#next);
      this.#next += 1;
      this.#since = Date.now();
      next.start();
    }
  }

  /** Gives up a number that has been waited for since before this time, and all requests that wait for it. */
  giveUp(before: number): void {
    if (this.#waiting.size === 0 || this.#since > before) return;
    const missing = this.#next;
    this.#next = Math.max(...this.#waiting.keys()) + 1;
    this.abandon(`the request ${missing} before it never arrived`);
  }

  /** The requests that still wait will not start. */
  abandon(why: string): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { abandon } of waiting) abandon(why);
  }
}
