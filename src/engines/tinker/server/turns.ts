/**
 * Requests of a model start in the order of their numbers, in whatever order they arrive. A number that never arrives,
 * because a client used it up for a request that it could not send, holds up those after it for a while only.
 */
interface Waiting {
  readonly start: () => void;
  readonly abandon: (why: string) => void;
}

export class Turns {
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
