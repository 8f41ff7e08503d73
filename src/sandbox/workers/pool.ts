/** Workers that take programs from a queue. A worker that dies is replaced, and its program is run again. */
import { answerOf, call } from "../../calls/call.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import type { Service } from "../../calls/services.ts";
import { TroupeError } from "../../errors.ts";
import type { Worker } from "./worker.ts";

export interface PoolOptions {
  /** Most workers; started on demand. */
  readonly size: number;
  readonly start: () => Promise<Worker>;
  /** Counts programs, and what happened to their workers. */
  readonly service: Service;
}

interface Waiting {
  readonly give: (worker: Worker) => void;
  readonly fail: (error: Error) => void;
}

/** Each retry has a fresh worker. */
const atOnce: RetryOptions = { retries: 2, firstDelay: 0, longestDelay: 0 };

export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  /** In the order of arrival; a Set, so that one of thousands can leave quickly. */
  readonly #queue = new Set<Waiting>();
  /** Served before the others: their workers died, and they have waited once. */
  readonly #again = new Set<Waiting>();
  #starting = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Starts one worker, to check that it works. */
  async warm(): Promise<Worker> {
    const worker = await this.take();
    this.giveBack(worker);
    return worker;
  }

  /** @throws ServiceError after the last try; any other error of `work` at once */
  async use<T>(work: (worker: Worker) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const once = async (attempt: number): Promise<T> => {
      const worker = await this.take(signal, attempt > 0);
      try {
        return await work(worker);
      } finally {
        this.giveBack(worker);
      }
    };
    return answerOf(
      await call(this.#options.service, (_, attempt) => once(attempt), { signal, retries: atOnce }),
    );
  }

  /**
   * A worker for the caller alone, who returns it.
   * @param again before all that have not had one yet
   * @throws TroupeError `cancelled`
   */
  take(signal?: AbortSignal, again = false): Promise<Worker> {
    const queue = again ? this.#again : this.#queue;
    if (this.#closed) return Promise.reject(closed());
    if (signal?.aborted === true) return Promise.reject(cancelled());
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        queue.delete(waiting);
        reject(cancelled());
      };
      const done = (settle: () => void): void => {
        signal?.removeEventListener("abort", abort);
        settle();
      };
      const waiting: Waiting = {
        give: (worker) => done(() => resolve(worker)),
        fail: (error) => done(() => reject(error)),
      };
      signal?.addEventListener("abort", abort, { once: true });
      queue.add(waiting);
      this.#serve();
    });
  }

  giveBack(worker: Worker): void {
    if (worker.dead === null && !this.#closed) this.#idle.push(worker);
    else this.#drop(worker);
    this.#serve();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const queue of [this.#again, this.#queue]) {
      for (const waiting of queue) waiting.fail(closed());
      queue.clear();
    }
    await Promise.all([...this.#all].map((worker) => worker.close()));
  }

  #serve(): void {
    for (const queue of [this.#again, this.#queue]) {
      for (const waiting of queue) {
        const worker = this.#nextIdle();
        if (worker === undefined) break;
        queue.delete(waiting);
        waiting.give(worker);
      }
    }
    const free = this.#options.size - this.#all.size - this.#starting;
    const wanted = Math.min(free, this.#again.size + this.#queue.size - this.#starting);
    for (let count = 0; count < wanted; count++) void this.#startOne();
  }

  /** Skips workers that died while idle. */
  #nextIdle(): Worker | undefined {
    for (let worker = this.#idle.pop(); worker !== undefined; worker = this.#idle.pop()) {
      if (worker.dead === null) return worker;
      this.#drop(worker);
    }
    return undefined;
  }

  async #startOne(): Promise<void> {
    this.#starting++;
    try {
      const worker = await this.#options.start();
      this.#starting--;
      this.#all.add(worker);
      if (this.#closed) await worker.close();
      else this.giveBack(worker);
    } catch (error) {
      this.#starting--;
      const [first] = this.#again.size > 0 ? this.#again : this.#queue;
      if (first === undefined) return;
      this.#again.delete(first);
      this.#queue.delete(first);
      first.fail(error as Error);
      this.#serve();
    }
  }

  #drop(worker: Worker): void {
    this.#all.delete(worker);
    worker.kill();
  }
}

function closed(): TroupeError {
  return new TroupeError("cancelled", "The sandbox has been closed.");
}

function cancelled(): TroupeError {
  return new TroupeError("cancelled", "The program was cancelled before it started.");
}
