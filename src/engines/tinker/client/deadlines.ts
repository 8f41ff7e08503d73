/** How long, and how often, a request to a server is tried. */
import { setTimeout as delay } from "node:timers/promises";
import { TroupeError } from "../../../errors.ts";
import type { Transport, Contact } from "./transport.ts";

/** Milliseconds between questions whether a server is there. */
const probeInterval = 1000;

/** While somebody waits for the end, a server that does not answer is tried for a short time only. */
export class ShortDeadline {
  readonly #transport: Transport;
  readonly #shortMilliseconds: number;
  #waiting = 0;
  #controller = new AbortController();

  /** @param shortMilliseconds how long a server is tried */
  constructor(transport: Transport, shortMilliseconds: number) {
    this.#transport = transport;
    this.#shortMilliseconds = shortMilliseconds;
  }

  /** Aborted while somebody waits. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Somebody waits until it is disposed. */
  begin(): Disposable {
    this.#waiting += 1;
    this.#controller.abort();
    void this.#probe();
    const probing = setInterval(() => void this.#probe(), probeInterval).unref();
    return {
      [Symbol.dispose]: () => {
        clearInterval(probing);
        this.#waiting -= 1;
        if (this.#waiting === 0) this.#controller = new AbortController();
      },
    };
  }

  /** Connections on which nothing comes any more are given up, too. */
  async #probe(): Promise<void> {
    const healthz = { method: "GET", path: "healthz", pool: "probe", milliseconds: probeInterval } as const;
    await this.#transport.send(healthz).catch(() => undefined);
    const { silence, milliseconds } = this.#transport.contact;
    if (milliseconds >= this.#shortMilliseconds) this.#transport.abandon(silence?.why ?? "no answer");
  }
}

/** In milliseconds. */
export interface Timeouts {
  /** How long a server that no longer answers is tried. */
  readonly timeoutMilliseconds: number;
  /** How long any is tried while somebody waits for the end. */
  readonly shortMilliseconds: number;
  /** Of the first delay; doubled each time, up to `longestDelay`. */
  readonly firstDelay: number;
  readonly longestDelay: number;
}

/** Milliseconds, while somebody waits for the end. */
const longestShortDelay = 1000;

/** Delays that double, until the timeout. */
export class BackOff {
  readonly #options: Timeouts;
  readonly #short: () => AbortSignal;
  readonly #contact: Contact;
  readonly #began = performance.now();
  #next: number;

  /** @param short aborted while somebody waits for the end */
  constructor(options: Timeouts, short: () => AbortSignal, contact: Contact) {
    this.#contact = contact;
    this.#options = options;
    this.#short = short;
    this.#next = options.firstDelay;
  }

  /** Since the first try. */
  get milliseconds(): number {
    return performance.now() - this.#began;
  }

  /** What others waited for the server in vain counts, too. */
  get isOver(): boolean {
    const { timeoutMilliseconds, shortMilliseconds } = this.#options;
    const milliseconds = Math.max(this.milliseconds, this.#contact.milliseconds);
    return milliseconds >= (this.#short().aborted ? shortMilliseconds : timeoutMilliseconds);
  }

  /** Of a server that is there. @param since a later beginning of the timeout */
  isOverSince(since: number): boolean {
    return performance.now() - Math.max(this.#began, since) >= this.#options.timeoutMilliseconds;
  }

  /** Ends early when somebody begins to wait for the end. @throws TroupeError `cancelled` */
  async wait(signal: AbortSignal): Promise<void> {
    const short = this.#short();
    const milliseconds = short.aborted ? Math.min(longestShortDelay, this.#next) : this.#next;
    this.#next = Math.min(this.#options.longestDelay, 2 * this.#next);
    try {
      await delay(milliseconds, undefined, {
        signal: short.aborted ? signal : AbortSignal.any([short, signal]),
      });
    } catch (cause) {
      if (!signal.aborted) return;
      throw new TroupeError("cancelled", "Cancelled while the server was not reachable.", { cause });
    }
  }
}
