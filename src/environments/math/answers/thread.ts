/** A worker thread that answers one question at a time, within a processor time. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { withinTime } from "../../../calls/deadline.ts";
import { ServiceError } from "../../../errors.ts";

export interface ThreadLimits {
  /** Of the thread's processor, for one question. */
  readonly processorSeconds: number;
  /** By the clock. A thread that got too little of the processor by then says nothing about the question. */
  readonly wallSeconds: number;
  /** Of the thread's heap. */
  readonly megabytes: number;
}

/** `problem`: why the answers cannot be compared. It is theirs: the same pair always ends like this. */
const verdictSchema = z.union([
  z.strictObject({ isSame: z.boolean() }),
  z.strictObject({ isSame: z.literal(false), problem: z.string() }),
]);

export type Verdict = z.infer<typeof verdictSchema> & { readonly problem?: string };

/** `used`: processor time of the thread so far, in microseconds. */
const replySchema = z.strictObject({ verdict: verdictSchema.nullable(), used: z.number() });

type Reply = z.infer<typeof replySchema>;

/** A limit that a question reached by its own work. */
export type Reached = "processor" | "memory";

export interface Thread {
  /** After a limit or a failure the thread is to be ended. @throws ServiceError if nothing is known of the question */
  ask(question: object): Promise<Verdict | Reached>;
  end(): Promise<void>;
}

/** The compiled worker is JavaScript. */
const program = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

const startMilliseconds = 60_000;
/** How often the processor time of a slow thread is read. */
const pollMilliseconds = 100;

/** Resolves once the thread is ready. It keeps the process alive only while it is asked. */
export async function startThread(limits: ThreadLimits, url: URL = program): Promise<Thread> {
  const resourceLimits = { maxOldGenerationSizeMb: limits.megabytes, maxYoungGenerationSizeMb: 64 };
  const worker = new Worker(url, { resourceLimits });
  let isOver = false;
  worker.once("exit", () => (isOver = true));
  // Whoever waits for a reply gets the error; without a listener it would end the process.
  worker.on("error", () => {});
  const end = async (): Promise<void> => void (await worker.terminate());
  const starting = withinTime(() => replyOf(worker), startMilliseconds, "starting a thread");
  let { used } = await starting.catch(async (error: unknown) => {
    await end();
    throw error instanceof ServiceError ? error : failed(error);
  });
  worker.unref();
  return {
    end,
    ask: async (question) => {
      if (isOver) throw failed();
      worker.ref();
      const stop = new AbortController();
      const reply = replyOf(worker);
      // The rule is meant for windows of a browser.
      // eslint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage(question);
      try {
        const found = await Promise.race([reply, limitOf(worker, used, limits, stop.signal)]);
        if (found === "processor") return found;
        ({ used } = found);
        return found.verdict ?? { isSame: false };
      } catch (error) {
        if (hasCode(error, "ERR_WORKER_OUT_OF_MEMORY")) return "memory";
        throw error instanceof ServiceError ? error : failed(error);
      } finally {
        stop.abort();
        worker.unref();
      }
    },
  };
}

function failed(cause?: unknown): ServiceError {
  return new ServiceError("the thread that compares answers ended", { cause });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** @throws the thread's error */
async function replyOf(worker: Worker): Promise<Reply> {
  const stop = new AbortController();
  const { signal } = stop;
  const ended = once(worker, "exit", { signal }).then(() => Promise.reject(failed()));
  try {
    const [message] = await Promise.race([once(worker, "message", { signal }) as Promise<[unknown]>, ended]);
    return replySchema.parse(message);
  } finally {
    stop.abort();
  }
}

/** @throws ServiceError once the clock's limit is over */
async function limitOf(
  worker: Worker,
  before: number,
  { processorSeconds, wallSeconds }: ThreadLimits,
  signal: AbortSignal,
): Promise<"processor"> {
  const late = delay(wallSeconds * 1000, null, { signal });
  late.catch(() => {});
  // Of a thread that ends there is none; who waits for its reply gets to know.
  const usage = () => worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  for (;;) {
    await delay(pollMilliseconds, null, { signal });
    // Not answered while the thread is in one long operation of its engine.
    const used = await Promise.race([usage(), late]);
    if (used === null) break;
    if (used.user + used.system - before > processorSeconds * 1e6) return "processor";
  }
  throw new ServiceError(
    `the thread that compares answers got less than ${processorSeconds} s of the processor in ${wallSeconds} s`,
  );
}

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
