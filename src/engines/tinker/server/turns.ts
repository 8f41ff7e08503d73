/** Requests of a model start in the order of their sequence numbers, in whatever order they arrive. */
export class Turns {
  readonly #waiting = new Map<number, () => void>();
  #next: number;

  constructor(first: number) {
    this.#next = first;
  }

  isPast(number: number): boolean {
    return number < this.#next;
  }

  /** Calls `start` once all earlier numbers have started, perhaps at once. */
  take(number: number, start: () => void): void {
    this.#waiting.set(number, start);
    for (;;) {
      const next = this.#waiting.get(this.#next);
      if (next === undefined) return;
      this.#waiting.delete(this.#next);
      this.#next += 1;
      next();
    }
  }
}
