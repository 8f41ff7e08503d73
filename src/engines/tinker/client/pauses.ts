/** How long, and how often, a request is tried. */
import { setTimeout as delay } from "node:timers/promises";
import { TroupeError } from "../../../errors.ts";
import type { Contact } from "./contact.ts";

/** In milliseconds. */
export interface Patience {
  /** How long a server that no longer answers is tried. */
  readonly patienceMilliseconds: number;
  /** How long any is tried while somebody waits for the end. */
  readonly shortMilliseconds: number;
  /** Of the first pause; doubled each time, up to `longestPause`. */
  readonly firstPause: number;
  readonly longestPause: number;
}

/** Milliseconds, while somebody waits for the end. */
const longestHurriedPause = 1000;

/** Pauses that double, until the patience ends. */
export class Pauses {
  readonly #options: Patience;
  readonly #hurry: () => AbortSignal;
  readonly #contact: Contact;
  readonly #began = performance.now();
  #next: number;

  /** @param hurry aborted while somebody waits for the end */
  constructor(options: Patience, hurry: () => AbortSignal, contact: Contact) {
    this.#contact = contact;
    this.#options = options;
    this.#hurry = hurry;
    this.#next = options.firstPause;
  }

  /** Since the first try. */
  get milliseconds(): number {
    return performance.now() - this.#began;
  }

  /** What others waited for the server in vain counts, too. */
  get areOver(): boolean {
    const { patienceMilliseconds, shortMilliseconds } = this.#options;
    const milliseconds = Math.max(this.milliseconds, this.#contact.milliseconds);
    return milliseconds >= (this.#hurry().aborted ? shortMilliseconds : patienceMilliseconds);
  }

  /** Of a server that is there. @param since a later beginning of the patience */
  areOverSince(since: number): boolean {
    return performance.now() - Math.max(this.#began, since) >= this.#options.patienceMilliseconds;
  }

  /** Ends early when somebody begins to wait for the end. @throws TroupeError `cancelled` */
  async pause(signal: AbortSignal): Promise<void> {
    const hurry = this.#hurry();
    const milliseconds = hurry.aborted ? Math.min(longestHurriedPause, this.#next) : this.#next;
    this.#next = Math.min(this.#options.longestPause, 2 * this.#next);
    try {
      await delay(milliseconds, undefined, {
        signal: hurry.aborted ? signal : AbortSignal.any([hurry, signal]),
      });
    } catch (cause) {
      if (!signal.aborted) return;
      throw new TroupeError("cancelled", "Cancelled while the server was not reachable.", { cause });
    }
  }
}
