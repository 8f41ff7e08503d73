/**
 * One long poll for all requests of a sampling session: any number of samples wait with one connection. What it says is
 * a hint: results are retrieved as ever, and a request whose completion was missed is polled for by itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import * as schema from "../protocol/schema.ts";
import { jsonOf } from "./answers.ts";
import type { Transport } from "./transport.ts";

/** Milliseconds. */
const longPoll = 250;

export class Completions {
  readonly #transport: Transport;
  readonly #session: string;
  readonly #milliseconds: number;
  readonly #waiting = new Map<string, () => void>();
  /** Reported before anybody waited for them. */
  readonly #early = new Set<string>();
  readonly #retrieved = new Set<string>();
  #cursor = 0;
  #isPolling = false;
  /** After a failure, requests are polled for by themselves. */
  #isOver = false;

  constructor(transport: Transport, session: string, milliseconds: number) {
    this.#transport = transport;
    this.#session = session;
    this.#milliseconds = milliseconds;
  }

  /** Resolves once the request is finished, or must be polled for. */
  async finished(id: string): Promise<void> {
    if (this.#isOver || this.#early.delete(id)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(id, resolve);
    if (!this.#isPolling) void this.#poll();
    await promise;
  }

  /** The server need not keep its result. */
  retrieved(id: string): void {
    this.#retrieved.add(id);
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#waiting.size > 0) {
      const asked = performance.now();
      const found = await this.#once();
      // The server did not wait, so the client does.
      if (found?.completions.length === 0 && performance.now() - asked < longPoll) await delay(longPoll);
      if (found === null) {
        this.#isOver = true;
        for (const resolve of this.#waiting.values()) resolve();
        this.#waiting.clear();
      }
      for (const { request_id: id } of found?.completions ?? []) {
        const resolve = this.#waiting.get(id);
        if (resolve === undefined) this.#early.add(id);
        this.#waiting.delete(id);
        resolve?.();
      }
      this.#cursor = found?.cursor ?? this.#cursor;
    }
    this.#isPolling = false;
  }

  /** Null: no understandable answer. */
  async #once(): Promise<z.output<typeof schema.completions> | null> {
    const retrieved = [...this.#retrieved];
    const request = schema.request("retrieve_futures", {
      target: { type: "sampling_session", sampling_session_id: this.#session, cloned_sampler_id: 0 },
      prev_cursor: this.#cursor,
      retrieved_request_ids: retrieved,
    });
    const outgoing = { ...request, pool: "poll", milliseconds: this.#milliseconds } as const;
    // Nobody waits for this poll. Each request then asks for itself, and meets what is wrong, such as a rejected key.
    const found = await this.#transport.send(outgoing).catch(() => null);
    if (found?.status !== 200) return null;
    for (const id of retrieved) this.#retrieved.delete(id);
    return schema.completions.safeParse(jsonOf(found)).data ?? null;
  }
}
