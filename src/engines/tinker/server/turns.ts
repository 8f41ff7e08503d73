/** Requests of a model start in the order of their sequence numbers, in whatever order they arrive. */
interface Waiting {
  readonly start: () => void;
  readonly abandon: () => void;
}

export class Turns {
  readonly #waiting = new Map<number, Waiting>();
  #next: number;

  constructor(first: number) {
    this.#next = first;
  }

  isPast(number: number): boolean {
    return number < this.#next;
  }

  /** Calls `start` once all earlier numbers have started, perhaps at once; or `abandon`, if that can no longer happen. */
  take(number: number, start: () => void, abandon: () => void): void {
    this.#waiting.set(number, { start, abandon });
    for (;;) {
      const next = this.#waiting.get(this.#next);
      if (next === undefined) return;
      this.#waiting.delete(this.#next);
      this.#next += 1;
      next.start();
    }
  }

  /** The requests that still wait will not start: earlier ones never arrived. */
  abandon(): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { abandon } of waiting) abandon();
  }
}
