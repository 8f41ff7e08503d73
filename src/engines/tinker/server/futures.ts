/**
 * Results that clients retrieve later. Identifiers follow from the request, so that a request that arrives again finds
 * its future instead of being executed twice. A result stays until later ones need its room: a client whose answer got
 * lost asks again.
 */
import { Rejection } from "./call.ts";

export interface Result {
  json(): unknown;
  /** Absent: JSON only. */
  proto?(): Buffer;
  /** Approximate, of what is kept. */
  readonly bytes: number;
  readonly failed?: boolean;
}

interface Future {
  readonly owner: string;
  readonly fingerprint: string;
  /** Null once it is finished. */
  pending: Pending | null;
  result: Result | null;
  onGone: (() => void) | null;
}

interface Pending {
  /** Of the request's body. */
  readonly bytes: number;
  readonly done: PromiseWithResolvers<Result>;
  readonly cancel: AbortController;
  readonly onDone: (() => void)[];
}

/** Of a finished future in memory, besides its result. */
const overhead = 1500;

export interface FutureLimits {
  /** Bytes of results kept. */
  readonly resultBytes: number;
  /** Unfinished futures of one owner. */
  readonly pending: number;
  /** Bytes of the bodies of one owner's unfinished requests, and of those being received. */
  readonly pendingBytes: number;
}

export class Futures {
  readonly #limits: FutureLimits;
  readonly #futures = new Map<string, Future>();
  readonly #pending = new Map<string, number>();
  readonly #pendingBytes = new Map<string, number>();
  #bytes = 0;

  constructor(limits: FutureLimits) {
    this.#limits = limits;
  }

  /**
   * The future of this request if it is known already. @throws Rejection 409 if another request has the identifier
   */
  has(id: string, owner: string, fingerprint: string): boolean {
    const future = this.#futures.get(id);
    if (future === undefined || future.owner !== owner) return false;
    if (future.fingerprint !== fingerprint)
      throw new Rejection(409, `Another request has the sequence number of ${id}.`, {
        code: "bad_arguments",
      });
    return true;
  }

  /** Room for part of a body. The caller gives it back. @throws Rejection 429 beyond the owner's limit */
  take(owner: string, bytes: number): void {
    const total = (this.#pendingBytes.get(owner) ?? 0) + bytes;
    if (total > this.#limits.pendingBytes)
      throw new Rejection(429, `Unfinished requests have more than ${this.#limits.pendingBytes} bytes.`);
    this.#pendingBytes.set(owner, total);
  }

  giveBack(owner: string, bytes: number): void {
    this.#pendingBytes.set(owner, (this.#pendingBytes.get(owner) ?? bytes) - bytes);
  }

  /** @throws Rejection 429 beyond the owner's limits */
  add(id: string, owner: string, fingerprint: string, pendingBytes: number): void {
    const pending = this.#pending.get(owner) ?? 0;
    if (pending >= this.#limits.pending)
      throw new Rejection(429, `${pending} requests are unfinished; the limit is ${this.#limits.pending}.`);
    this.take(owner, pendingBytes);
    this.#pending.set(owner, pending + 1);
    const done = Promise.withResolvers<Result>();
    this.#futures.set(id, {
      owner,
      fingerprint,
      pending: { bytes: pendingBytes, done, cancel: new AbortController(), onDone: [] },
      result: null,
      onGone: null,
    });
  }

  /** Unfinished futures. */
  pendingOf(owner: string): number {
    return this.#pending.get(owner) ?? 0;
  }

  signal(id: string): AbortSignal | undefined {
    return this.#futures.get(id)?.pending?.cancel.signal;
  }

  finish(id: string, result: Result): void {
    const future = this.#futures.get(id);
    const pending = future?.pending;
    if (future === undefined || !pending) return;
    [future.result, future.pending] = [result, null];
    this.#pending.set(future.owner, (this.#pending.get(future.owner) ?? 1) - 1);
    this.giveBack(future.owner, pending.bytes);
    this.#futures.delete(id); // to the end of the order of results
    this.#futures.set(id, future);
    this.#bytes += overhead + result.bytes;
    this.#makeRoom(id);
    pending.done.resolve(result);
    for (const tell of pending.onDone) tell();
  }

  /** Null: not finished in time. @throws Rejection 410 if it is unknown, or its result is no longer kept */
  async retrieve(id: string, owner: string, milliseconds: number): Promise<Result | null> {
    const { pending, result } = this.#own(id, owner);
    if (pending === null) return result;
    const timeout = Promise.withResolvers<null>();
    const timer = setTimeout(() => timeout.resolve(null), milliseconds);
    try {
      return await Promise.race([pending.done.promise, timeout.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Calls back once it is finished, perhaps at once. */
  whenDone(id: string, tell: () => void): void {
    const future = this.#futures.get(id);
    if (future === undefined) return;
    if (future.pending === null) tell();
    else future.pending.onDone.push(tell);
  }

  /** Calls back once its result is no longer kept. */
  whenGone(id: string, tell: () => void): void {
    const future = this.#futures.get(id);
    if (future !== undefined) future.onGone = tell;
  }

  resultOf(id: string): Result | null {
    return this.#futures.get(id)?.result ?? null;
  }

  cancel(id: string, owner: string): void {
    this.#own(id, owner).pending?.cancel.abort();
  }

  /** The client has the result. */
  release(id: string, owner: string): void {
    const future = this.#futures.get(id);
    if (future?.owner === owner && future.result !== null) this.#remove(id, future.result);
  }

  /** Forgets the results of a session that ended. */
  releaseOf(session: string): void {
    for (const [id, { result }] of this.#futures)
      if (result !== null && id.startsWith(`${session}:`)) this.#remove(id, result);
  }

  /** All owners' unfinished futures. */
  get unfinished(): number {
    return [...this.#pending.values()].reduce((sum, count) => sum + count, 0);
  }

  #own(id: string, owner: string): Future {
    const future = this.#futures.get(id);
    if (future !== undefined && future.owner === owner) return future;
    throw new Rejection(410, `The request ${id} is unknown, or its result is no longer kept.`);
  }

  #makeRoom(newest: string): void {
    for (const [id, { result }] of this.#futures) {
      if (this.#bytes <= this.#limits.resultBytes) return;
      if (result !== null && id !== newest) this.#remove(id, result);
    }
  }

  #remove(id: string, result: Result): void {
    this.#bytes -= overhead + result.bytes;
    this.#futures.get(id)?.onGone?.();
    this.#futures.delete(id);
  }
}

const clientBlock = 1_000_000_000;
const mostClients = 1000;

interface Client {
  readonly known: Set<string>;
  readonly finished: { readonly cursor: number; readonly id: string }[];
  cursor: number;
  next: PromiseWithResolvers<void>;
}

/**
 * Finished requests of sampling sessions, in order, so that one long poll serves all of a session's requests. A session
 * has several clients if it was copied to other processes: their requests are numbered in blocks.
 */
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
