/**
 * Finished requests of sampling sessions, in order, so that one long poll serves all of a session's requests. A session
 * has several clients if it was copied to other processes: their requests are numbered in blocks.
 */
import type { Futures } from "./futures.ts";
import { Rejection } from "./problems.ts";

const clientBlock = 1_000_000_000;
const mostClients = 1000;

interface Client {
  readonly known: Set<string>;
  readonly finished: { readonly cursor: number; readonly id: string }[];
  cursor: number;
  next: PromiseWithResolvers<void>;
}

export class Completions {
  readonly #futures: Futures;
  readonly #clients = new Map<string, Map<number, Client>>();

  constructor(futures: Futures) {
    this.#futures = futures;
  }

  /** A request of a sampling session, which may be known already. */
  add(session: string, seqId: number, id: string): void {
    const client = this.#client(session, Math.floor(seqId / clientBlock));
    if (client.known.has(id)) return;
    client.known.add(id);
    // Nothing is left to ask for.
    this.#futures.whenGone(id, () => {
      client.known.delete(id);
      while (client.finished[0] && !client.known.has(client.finished[0].id)) client.finished.shift();
    });
    this.#futures.whenDone(id, () => {
      client.cursor += 1;
      client.finished.push({ cursor: client.cursor, id });
      client.next.resolve();
      client.next = Promise.withResolvers();
    });
  }

  /** Those after the cursor, at once or as soon as there are any; those before it are forgotten. */
  async after(
    session: string,
    number: number,
    cursor: number,
    milliseconds: number,
  ): Promise<{ readonly ids: readonly string[]; readonly cursor: number }> {
    const client = this.#client(session, number);
    while ((client.finished[0]?.cursor ?? Infinity) <= cursor)
      client.known.delete(client.finished.shift()?.id ?? "");
    if (client.finished.length === 0 && milliseconds > 0) {
      const timeout = Promise.withResolvers<void>();
      const timer = setTimeout(timeout.resolve, milliseconds);
      await Promise.race([client.next.promise, timeout.promise]);
      clearTimeout(timer);
    }
    return { ids: client.finished.map(({ id }) => id), cursor: client.cursor };
  }

  forget(session: string): void {
    this.#clients.delete(session);
  }

  #client(session: string, number: number): Client {
    const clients = this.#clients.get(session) ?? new Map<number, Client>();
    this.#clients.set(session, clients);
    if (clients.size >= mostClients && !clients.has(number))
      throw new Rejection(429, `A sampling session has at most ${mostClients} clients.`);
    const client = clients.get(number) ?? {
      known: new Set(),
      finished: [],
      cursor: 0,
      next: Promise.withResolvers<void>(),
    };
    clients.set(number, client);
    return client;
  }
}
