/** The servers of an engine: one for all policies, and others for policies that have one of their own. */
import type { PolicyName, PolicyOptions, ServerLoad } from "../engine.ts";
import type { Session } from "./client/session.ts";
import { readLocation } from "./origins.ts";
import type { Policies, Policy } from "./policies.ts";

export interface Server {
  /** The policy whose own server it is; null: that of all others. */
  readonly owner: PolicyName | null;
  readonly session: Session;
  readonly policies: Policies;
}

/** A policy, and where it is. */
export interface PlacedPolicy extends Policy {
  readonly server: Server;
}

export class Servers {
  readonly #shared: Server;
  readonly #own: ReadonlyMap<PolicyName, Server>;
  #isClosed = false;

  /** @param own addresses by policy */
  constructor(
    open: (url: string, owner: PolicyName | null) => Server,
    url: string,
    own: Readonly<Record<PolicyName, string>>,
  ) {
    this.#shared = open(url, null);
    this.#own = new Map(Object.entries(own).map(([policy, address]) => [policy, open(address, policy)]));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Where its weights were saved; for a new policy its own server, if it has one. */
  of({ name, model, from }: PolicyOptions): Server {
    const stored = from ?? (typeof model === "string" ? undefined : model);
    if (stored === undefined) return this.#own.get(name) ?? this.#shared;
    return this.#own.get(readLocation(stored.saved).server ?? "") ?? this.#shared;
  }

  get load(): readonly ServerLoad[] {
    return [this.#shared, ...this.#own.values()].map(({ session }) => session.requests.load.now);
  }

  failFast(): Disposable {
    const all = new DisposableStack();
    for (const { session } of [this.#shared, ...this.#own.values()]) all.use(session.requests.failFast());
    return all;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [this.#shared, ...this.#own.values()];
    await Promise.all(all.map(({ session }) => session.close()));
  }
}
