/** The server's state, and what all its requests share. */
import { createHash, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { Activity } from "../../../calls/activity.ts";
import { TroupeError } from "../../../errors.ts";
import type { Engine } from "../../engine.ts";
import type { Metadata } from "../protocol/schema.ts";
import { failureOf, Rejection, type Call } from "./call.ts";
import { Completions, Futures, type Result } from "./futures.ts";
import { Models, type Model } from "./models.ts";
import type { ServerOptions } from "./options.ts";
import { failedResult } from "./results.ts";
import { Samplers, type Sampler } from "./samplers.ts";
import { Storage, parsePath } from "./storage.ts";

export interface Session {
  readonly id: string;
  readonly owner: string;
  readonly name: string | null;
  readonly metadata: Metadata;
  lastSeen: number;
  joined: number;
}

export class Service {
  readonly engine: Engine;
  readonly options: ServerOptions;
  readonly activity: Activity;
  readonly futures: Futures;
  readonly completions: Completions;
  readonly models: Models;
  readonly samplers: Samplers;
  readonly storage: Storage;
  readonly sessions = new Map<string, Session>();
  /** When sessions ended whose results are kept a little longer, for answers that got lost. */
  readonly #ended = new Map<string, number>();
  #isStopping = false;

  constructor(engine: Engine, options: ServerOptions) {
    const { limits } = options;
    this.engine = engine;
    this.options = options;
    this.activity = new Activity(options.log, () => ({
      sessions: this.sessions.size,
      models: this.models.size,
      unfinished: this.futures.unfinished,
    }));
    this.futures = new Futures(limits);
    this.completions = new Completions(this.futures);
    this.models = new Models(engine, options.models, limits.models);
    const isLoaded = (model: Model): boolean => this.models.find(model.id) === model;
    const isKept = (path: string, folder: string): boolean => this.storage.holds(path, folder);
    this.samplers = new Samplers(engine, limits, isLoaded, isKept);
    this.storage = new Storage(options.folder, limits.savedBytes, (path, folder) => {
      this.samplers.evict(path, folder).catch((error: unknown) => this.activity.failure(error));
    });
  }

  /** @throws Rejection 429 beyond the owner's limit */
  openSession(owner: string, name: string | null | undefined, metadata: Metadata): Session {
    const count = this.sessionsOf(owner).length;
    if (count >= this.options.limits.sessions)
      throw new Rejection(429, `${count} sessions are open; the limit is ${this.options.limits.sessions}.`);
    const session = {
      id: randomUUID(),
      owner,
      name: name ?? null,
      metadata,
      lastSeen: Date.now(),
      joined: 0,
    };
    this.sessions.set(session.id, session);
    return session;
  }

  sessionsOf(owner: string): readonly Session[] {
    return [...this.sessions.values()].filter((session) => session.owner === owner);
  }

  /** @throws Rejection 410 */
  session(id: string, owner: string): Session {
    const session = this.sessions.get(id);
    if (session === undefined || session.owner !== owner)
      throw new Rejection(410, `There is no session ${id}; it ended, or the server was restarted.`);
    session.lastSeen = Date.now();
    return session;
  }

  async endSession(id: string): Promise<void> {
    this.sessions.delete(id);
    this.#ended.set(id, Date.now());
    for (const sampler of this.samplers.ofSession(id)) this.#endSampler(sampler);
    await Promise.all(this.models.ofSession(id).map((model) => this.models.remove(model)));
  }

  /**
   * Those used last are kept: clients make one after each step and never end any.
   * @throws TroupeError `cancelled` if its session ended meanwhile; Rejection 409 if there is one of this name, which
   * would sample other weights from now on
   */
  addSampler(sampler: Sampler): void {
    if (!this.sessions.has(sampler.session)) {
      this.#removeWeights(sampler);
      throw new TroupeError(
        "cancelled",
        `The session ${sampler.session} ended before its weights were saved.`,
      );
    }
    if (this.samplers.has(sampler.id)) {
      this.#removeWeights(sampler);
      throw new Rejection(409, `There is a sampling session ${sampler.id}; give another number.`, {
        code: "bad_arguments",
      });
    }
    this.samplers.add(sampler);
    const { unnamedWeights, samplers } = this.options.limits;
    const ephemeral = this.samplers.ofSession(sampler.session).filter(isEphemeral);
    for (const old of ephemeral.slice(0, -unnamedWeights)) this.#endSampler(old);
    for (const old of this.samplers.ofOwner(sampler.owner).slice(0, -samplers)) this.#endSampler(old);
  }

  #endSampler(sampler: Sampler): void {
    this.samplers.remove(sampler.id);
    this.completions.forget(sampler.id);
    this.#removeWeights(sampler);
  }

  /** Deletes the weights of a sampling session that nobody else knows of. */
  #removeWeights(sampler: Sampler): void {
    if (sampler.source.kind !== "saved" || !isEphemeral(sampler)) return;
    const { path, stored } = sampler.source;
    if (this.storage.holds(path, stored.folder)) this.storage.remove(parsePath(path), sampler.owner);
  }

  /** What happens with time. Never fails. */
  async tidy(): Promise<void> {
    try {
      this.storage.removeExpired();
      const oldest = Date.now() - this.options.limits.turnMilliseconds;
      for (const { turns } of this.models.all()) turns.giveUp(oldest);
      this.#forgetResults(Date.now() - 60_000);
      await this.endStaleSessions();
    } catch (error) {
      this.activity.failure(error);
    }
  }

  #forgetResults(before: number): void {
    for (const [id, time] of this.#ended) {
      if (time > before) return;
      this.futures.releaseOf(id);
      this.#ended.delete(id);
    }
  }

  async endStaleSessions(): Promise<void> {
    const oldest = Date.now() - this.options.limits.sessionMilliseconds;
    for (const { id, lastSeen } of this.sessions.values()) {
      if (lastSeen >= oldest) continue;
      this.activity.sessionEnded(id, "no heartbeat");
      await this.endSession(id).catch((error: unknown) => this.activity.failure(error));
    }
  }

  /** A future for work that starts now, or the one of the same request before. */
  start(id: string, call: Call, work: (signal: AbortSignal) => Promise<Result>): { request_id: string } {
    return this.#future(id, call, () => this.#run(id, work));
  }

  /**
   * A future of a model's request, which starts in its turn.
   * @throws Rejection 410 if it was executed and its result is no longer kept, or if it arrives too late
   */
  startInTurn(
    model: Model,
    seqId: number,
    call: Call,
    work: (signal: AbortSignal) => Promise<Result>,
  ): { request_id: string; model_id: string } {
    const id = `${model.id}:${seqId}`;
    const session = this.sessions.get(model.session);
    if (session !== undefined) session.lastSeen = Date.now();
    const isKnown = this.futures.has(id, call.owner, fingerprintOf(call));
    if (!isKnown && model.turns.isPast(seqId))
      throw new Rejection(410, `The turn of the request ${id} is over, and no result of it is kept.`);
    const abandon = (why: string): void => this.futures.finish(id, failedResult(abandoned(id, why)));
    const future = this.#future(id, call, () => model.turns.take(seqId, () => this.#run(id, work), abandon));
    return { ...future, model_id: model.id };
  }

  /**
   * From now on only what was asked for before is finished; resolves once that is done. Requests that wait for earlier
   * ones fail: nothing can come before them any more.
   */
  async drain(): Promise<void> {
    this.#isStopping = true;
    for (const { turns } of this.models.all()) turns.abandon("the server is being stopped");
    while (this.futures.unfinished > 0) await setTimeout(20);
  }

  #future(id: string, call: Call, begin: () => void): { request_id: string } {
    const fingerprint = fingerprintOf(call);
    if (!this.futures.has(id, call.owner, fingerprint)) {
      if (this.#isStopping) throw new Rejection(503, "The server is being stopped.");
      this.futures.add(id, call.owner, fingerprint, call.body.length);
      begin();
    }
    return { request_id: id };
  }

  /** Calls the engine before it returns, so that verbs reach it in order. */
  #run(id: string, work: (signal: AbortSignal) => Promise<Result>): void {
    const signal = this.futures.signal(id) ?? new AbortController().signal;
    const fail = (error: unknown): void => {
      const failed = failureOf(error);
      if (failed.category === "server") this.activity.failure(error);
      this.activity.failed(failed.error);
      this.futures.finish(id, failedResult(error));
    };
    try {
      work(signal).then((result) => this.futures.finish(id, result), fail);
    } catch (error) {
      fail(error);
    }
  }
}

function isEphemeral({ source }: Sampler): boolean {
  return source.kind === "saved" && source.isEphemeral === true;
}

function abandoned(id: string, why: string): TroupeError {
  return new TroupeError("cancelled", `The request ${id} was not executed: ${why}.`);
}

function fingerprintOf({ path, body }: Call): string {
  return createHash("sha256").update(path).update("\0").update(body).digest("base64");
}
