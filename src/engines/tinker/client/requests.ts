/**
 * Submits requests and waits for their futures, through lost answers, busy servers and lost futures. A request is sent
 * again unchanged: its sequence number makes that harmless.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { z } from "zod";
import { retrying } from "../../../calls/retry.ts";
import { Service } from "../../../calls/services.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { checkRequestOptions } from "../arguments.ts";
import * as schema from "../protocol/schema.ts";
import {
  failureOf,
  isConflict,
  isTransient,
  jsonOf,
  parsed,
  rejectionOf,
  unsettled,
  type Incoming,
} from "./answers.ts";
import { ShortDeadline, BackOff, type Timeouts } from "./deadlines.ts";
import { ServerQueue } from "./server-queue.ts";
import { LateResponse, Transport, type Outgoing } from "./transport.ts";

export interface RequestOptions extends Timeouts {
  /** How long a server that never answered is tried. */
  readonly reachMilliseconds: number;
  /** How long one that says that another request conflicts is tried. */
  readonly conflictMilliseconds: number;
  /** Of one long poll. */
  readonly pollMilliseconds: number;
}

export const standardRequests: RequestOptions = {
  timeoutMilliseconds: 300_000,
  reachMilliseconds: 15_000,
  shortMilliseconds: 5000,
  conflictMilliseconds: 30_000,
  firstDelay: 500,
  longestDelay: 30_000,
  pollMilliseconds: 45_000,
};

/** What a caller may stop waiting for. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined;
  /** Whether the server can cancel it. */
  readonly isCancellable?: boolean;
  /** It would take effect twice: without an answer, or without a result, it is not sent again. */
  readonly isOnce?: boolean;
  /** Knows when the request is finished. */
  readonly completions?: Completions | undefined;
}

/** Something that is sent until it is settled. */
interface Attempts {
  readonly path: string;
  readonly backOff: BackOff;
  readonly ending: AbortSignal;
  readonly send: () => Promise<Incoming>;
  /** Whether an answer says that another one may come later. */
  readonly isPassing: (found: Incoming) => boolean;
  /** Since when a busy server is waited for, if that is later than the first try. */
  readonly busySince: () => number;
  /** A try that may have arrived is the last. */
  readonly isOnce?: boolean;
}

interface Settled {
  readonly found: Incoming;
  readonly mayHaveArrived: boolean;
}

/** Times a future is lost before its request fails. */
const mostResubmissions = 5;
/** Bare rejections of a poll, which something between may have made up. */
const mostBadPolls = 3;
/** Milliseconds. */
const longPoll = 250;
const longestWait = 2000;

export class Requests {
  readonly #transport: Transport;
  readonly #options: RequestOptions;
  /** Verbs are counted where they are called (../../retrying.ts): how many requests they take depends on time. */
  readonly #service = new Service("engine");
  readonly #closing = new AbortController();
  readonly queue: ServerQueue;
  /** When the server last accepted a request. */
  #accepted = -Infinity;
  #hasAnswered = false;
  readonly #short: ShortDeadline;

  /** @throws TroupeError `bad_arguments` */
  constructor(transport: Transport, options: RequestOptions) {
    checkRequestOptions(options);
    this.#transport = transport;
    this.#options = options;
    this.queue = new ServerQueue(transport.url, transport.contact);
    this.#short = new ShortDeadline(transport, options.shortMilliseconds);
  }

  /** Whether anything was ever heard of the server. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Nothing is tried again from now on. */
  close(): void {
    this.#closing.abort();
  }

  /** Until it is disposed, a server that does not answer is tried for `shortMilliseconds` only. */
  failFast(): Disposable {
    return this.#short.begin();
  }

  #backOff(options = this.#options): BackOff {
    return new BackOff(options, () => this.#short.signal, this.#transport.contact);
  }

  /** An answer of 2xx. @throws TroupeError if it is rejected, ServiceError after the timeout */
  async send(outgoing: Outgoing, signal?: AbortSignal, isOnce = false): Promise<Incoming> {
    const backOff = this.#backOff();
    const isPassing = (found: Incoming): boolean =>
      isTransient(found.status) ||
      (isConflict(found) && backOff.milliseconds < this.#options.conflictMilliseconds);
    const { found, mayHaveArrived } = await this.#untilSettled({
      path: outgoing.path,
      backOff,
      ending: this.#ending(signal),
      send: () => this.#transport.send(outgoing),
      isPassing,
      busySince: () => this.#accepted,
      isOnce,
    });
    if (found.status < 200 || found.status >= 300) {
      const rejection = rejectionOf(found, outgoing.path);
      throw mayHaveArrived ? unsettled(rejection) : rejection;
    }
    this.#accepted = performance.now();
    this.queue.accepted();
    return found;
  }

  /** The first answer that settles something, and whether a try before it may have arrived. @throws ServiceError after the timeout; TroupeError `cancelled` */
  async #untilSettled(attempts: Attempts): Promise<Settled> {
    const { path, backOff, ending, send, isPassing, busySince, isOnce = false } = attempts;
    let isBusy = false;
    let mayHaveArrived: ServiceError | undefined;
    let end: ServiceError | undefined;
    const attempt = async (number: number): Promise<Incoming> => {
      if (number > 0) checkNotEnded(ending, mayHaveArrived);
      if (number > 0) this.#service.retried();
      const found = await send().catch(asFailure);
      // A server that is busy with other requests has not failed.
      isBusy = !(found instanceof ServiceError) && found.status === 429;
      this.#hasAnswered ||= !(found instanceof ServiceError);
      if (isBusy) this.queue.hear(found as Incoming);
      if (!(found instanceof ServiceError) && !isPassing(found)) return found;
      const failure = found instanceof ServiceError ? found : serviceErrorOf(rejectionOf(found, path));
      if (!isBusy) mayHaveArrived = failure;
      throw failure;
    };
    const isRetried = (failure: ServiceError): boolean => {
      if (isOnce && !isBusy) end = failure;
      else if (!this.#hasAnswered && backOff.milliseconds >= this.#options.reachMilliseconds)
        end = neverReached(failure);
      else if (isBusy ? backOff.isOverSince(busySince()) : backOff.isOver)
        end = exhausted(failure, path, backOff.milliseconds);
      return end === undefined;
    };
    // How long it waits depends on whether somebody waits for the end.
    const sleep = (): Promise<void> => backOff.wait(ending);
    const retries = { retries: Infinity, firstDelay: 0, longestDelay: 0, isRetried, sleep };
    const found = await retrying(attempt, retries).catch((error: unknown) => {
      throw end ?? error;
    });
    return { found, mayHaveArrived: mayHaveArrived !== undefined };
  }

  /** Submits the request and returns its future's result. `onSubmitted` is called once the server has it. */
  run(outgoing: Outgoing, waiting: Waiting = {}, onSubmitted?: () => void): Promise<Incoming> {
    return this.queue.during(() => this.#run(outgoing, waiting, onSubmitted));
  }

  async #run(
    outgoing: Outgoing,
    { signal, isCancellable = false, isOnce = false, completions }: Waiting,
    onSubmitted?: () => void,
  ): Promise<Incoming> {
    for (let tries = 0; ; tries++) {
      const accepted = await this.send(outgoing, signal, isOnce);
      const { request_id: id } = parsed(schema.submitted, accepted, outgoing.path);
      onSubmitted?.();
      const cancel = (): void => void this.#cancel(id);
      if (isCancellable) signal?.addEventListener("abort", cancel, { once: true });
      if (isCancellable && signal?.aborted === true) cancel();
      try {
        // A request that was submitted again may have been reported before.
        if (tries === 0) await completions?.finished(id);
        const result = await this.#result(id, outgoing);
        completions?.retrieved(id);
        if (result !== "lost") return result;
      } finally {
        signal?.removeEventListener("abort", cancel);
      }
      if (tries >= mostResubmissions || isOnce)
        throw new ServiceError(`The server keeps losing the result of ${outgoing.path}.`);
    }
  }

  /** `lost`: the server no longer knows the future. */
  async #result(id: string, outgoing: Outgoing): Promise<Incoming | "lost"> {
    const waits = this.#backOff({ ...this.#options, longestDelay: longestWait });
    let badPolls = 0;
    for (;;) {
      const asked = performance.now();
      const { found } = await this.#untilSettled({
        path: outgoing.path,
        backOff: this.#backOff(),
        ending: this.#closing.signal,
        send: () => this.#poll(id, outgoing),
        isPassing: ({ status }) => status === 429 || status >= 500,
        busySince: () => -Infinity,
      });
      const body = found.isProto ? undefined : jsonOf(found);
      if (found.status === 408 || isTryAgain(body)) {
        // A server that answers at once does not wait for the result, so the client does.
        if (performance.now() - asked < longPoll) await waits.wait(this.#closing.signal);
        continue;
      }
      if (found.status === 410) return "lost";
      if (found.status === 400 && !isDetailed(found) && badPolls++ < mostBadPolls) continue;
      return resultIn(found, outgoing.path);
    }
  }

  #ending(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal]);
  }

  async #poll(id: string, { wantsProto = false }: Outgoing): Promise<Incoming> {
    const poll = {
      ...schema.request("retrieve_future", { request_id: id }),
      wantsProto,
      pool: "poll",
      milliseconds: this.#options.pollMilliseconds,
    } as const;
    try {
      const found = await this.#transport.send(poll);
      this.queue.hear(found);
      return found;
    } catch (error) {
      // Some servers hold a poll for longer than this client waits; the heartbeat says whether they are there.
      const isThere = error instanceof LateResponse && this.#transport.contact.silence === null;
      if (isThere) return { status: 408, isProto: false, body: Buffer.alloc(0) };
      throw error;
    }
  }

  async #cancel(id: string): Promise<void> {
    await this.#transport.send(schema.request("cancel_future", { request_id: id })).catch(() => undefined);
  }
}

function asFailure(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  throw error;
}

/** A rejection that may pass. */
function serviceErrorOf(rejection: TroupeError): ServiceError {
  if (rejection instanceof ServiceError) return rejection;
  return new ServiceError(rejection.message, { cause: rejection });
}

/** @throws TroupeError `cancelled` */
function checkNotEnded(ending: AbortSignal, cause: ServiceError | undefined): void {
  if (!ending.aborted) return;
  throw new TroupeError("cancelled", "Cancelled while the server was not reachable.", { cause });
}

/** @param milliseconds since the request was first sent */
function exhausted(cause: ServiceError, path: string, milliseconds: number): ServiceError {
  const message = `${cause.message.replace(/\.$/, "")}. ${path} waited for ${Math.round(milliseconds / 1000)} s.`;
  return new ServiceError(message, { cause });
}

function neverReached(cause: ServiceError): ServiceError {
  return new ServiceError(`${cause.message}. Start the server, or correct its address.`, { cause });
}

/** @throws TroupeError if the poll is rejected, or the request failed */
function resultIn(found: Incoming, path: string): Incoming {
  if (found.status >= 300) throw unsettled(rejectionOf(found, `the question for the result of ${path}`));
  const failure = schema.failed.safeParse(found.isProto ? undefined : jsonOf(found));
  if (failure.success) throw failureOf(failure.data);
  return found;
}

function isTryAgain(body: unknown): boolean {
  return (body as { readonly type?: unknown } | null)?.type === "try_again";
}

/** A server says what is wrong; a proxy between may not. */
function isDetailed(incoming: Incoming): boolean {
  return typeof (jsonOf(incoming) as { readonly detail?: unknown } | undefined)?.detail === "string";
}

/**
 * One long poll for all requests of a sampling session: any number of samples wait with one connection. What it says is
 * a hint: results are retrieved as ever, and a request whose completion was missed is polled for by itself.
 */
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
