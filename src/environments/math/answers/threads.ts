/** Threads that answer questions concurrently. */
import type { Reached, Thread, Verdict } from "./thread.ts";

/** Every free place has a thread, or null: none yet. */
export class ThreadPool {
  readonly #start: () => Promise<Thread>;
  readonly #free: (Thread | null)[];
  readonly #waiting: ((place: Thread | null) => void)[] = [];

  constructor(start: () => Promise<Thread>, threads: number) {
    this.#start = start;
    this.#free = Array.from({ length: threads }, () => null);
  }

  /** @throws ServiceError if a thread does not start, or gives no verdict */
  async ask(question: object): Promise<Verdict | Reached> {
    let thread = await this.#place();
    try {
      for (;;) {
        const isFresh = thread === null;
        thread ??= await this.#start();
        const found = await thread.ask(question);
        if (typeof found !== "string") return found;
        await thread.end();
        thread = null;
        // A used thread keeps some memory of earlier questions.
        if (found === "processor" || isFresh) return found;
      }
    } catch (error) {
      await thread?.end();
      thread = null;
      throw error;
    } finally {
      this.#leave(thread);
    }
  }

  /** Those with a thread are taken first. */
  async #place(): Promise<Thread | null> {
    const at = this.#free.findLastIndex((thread) => thread !== null);
    const [place] = this.#free.splice(at < 0 ? 0 : at, 1);
    return place === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : place;
  }

  #leave(place: Thread | null): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(place);
    else next(place);
  }
}
