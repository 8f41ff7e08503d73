/**
 * A child process that answers one question at a time, within a processor time and a memory. A thread would not do: V8
 * may end the whole process if the heap of one thread is full.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { withinTime } from "../../../calls/deadline.ts";
import { ServiceError } from "../../../errors.ts";

export interface Limits {
  /** Of the process, for one question. */
  readonly processorSeconds: number;
  /** By the clock. A process that got too little of the processor by then says nothing about the question. */
  readonly wallSeconds: number;
  /** By which its memory may grow for one question. */
  readonly megabytes: number;
}

/** `problem`: why the answers cannot be compared. It is theirs: the same pair always ends like this. */
const verdictSchema = z.union([
  z.strictObject({ isSame: z.boolean() }),
  z.strictObject({ isSame: z.literal(false), problem: z.string() }),
]);

export type Verdict = z.infer<typeof verdictSchema> & { readonly problem?: string };

/** A limit that a question reached by its own work. */
const reachedSchema = z.enum(["processor", "memory"]);
export type Reached = z.infer<typeof reachedSchema>;

export interface Process {
  /** After a limit or a failure the process is to be ended. @throws ServiceError if nothing is known of the question */
  ask(question: object): Promise<Verdict | Reached>;
  end(): Promise<void>;
}

/** The compiled worker is JavaScript. */
const worker = fileURLToPath(
  new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

const startMilliseconds = 60_000;

/**
 * Resolves once the process is ready. It keeps its parent alive only while it is asked, and ends with it.
 * @param program calls `serve`
 */
export async function startProcess(limits: Limits, program = worker): Promise<Process> {
  const { wallSeconds, ...watched } = limits;
  const child = fork(program, [JSON.stringify(watched)], {
    // Much higher than the limit that is watched: V8 gives no reason when it ends the process, nor does a system that
    // refuses memory, which says nothing about the question.
    execArgv: [`--max-old-space-size=${4 * limits.megabytes}`],
    env: {},
    stdio: ["ignore", "pipe", "ignore", "ipc"],
    // Ctrl-C in a terminal is for its parent.
    detached: true,
  });
  // Whoever waits for a reply gets the error; without a listener it would end the parent.
  child.on("error", () => {});
  let [asked, said] = [0, ""];
  child.stdout?.on("data", (text: Buffer) => (said += text.toString()));
  const end = async (): Promise<void> => {
    if (hasEnded(child) || child.pid === undefined) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const setRefs = (does: "ref" | "unref"): void => {
    for (const each of [child, child.channel, child.stdout as Socket | null]) each?.[does]();
  };
  try {
    await withinTime(() => replyOf(child), startMilliseconds, "starting a process that compares answers");
  } catch (error) {
    await end();
    throw error instanceof ServiceError ? error : failed(error);
  }
  setRefs("unref");
  return {
    end,
    ask: async (question) => {
      if (hasEnded(child)) throw failed();
      setRefs("ref");
      const what = `comparing two answers, with at most ${limits.processorSeconds} s of the processor,`;
      try {
        asked++;
        child.send(question);
        return verdictSchema.parse(await withinTime(() => replyOf(child), wallSeconds * 1000, what));
      } catch (error) {
        // A limit reported for an earlier question, whose reply still arrived, does not apply to this one.
        const [number, limit] = said.split(" ");
        const reached = reachedSchema.safeParse(number === String(asked) ? limit : null);
        if (error instanceof Ended && reached.success) return reached.data;
        throw error instanceof ServiceError ? error : failed(error);
      } finally {
        setRefs("unref");
      }
    },
  };
}

class Ended extends Error {
  constructor({ exitCode, signalCode }: ChildProcess) {
    super(signalCode === null ? `it exited with code ${exitCode}` : `it was terminated by ${signalCode}`);
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function failed(cause: unknown = "it had ended before"): ServiceError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError(`the process that compares answers ended: ${reason}`, { cause });
}

/** @throws Ended, or the error with which it could not be started */
async function replyOf(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController();
  const { signal } = stop;
  // By then its output has been read.
  const ended = once(child, "close", { signal }).then(() => {
    throw new Ended(child);
  });
  try {
    const [message] = await Promise.race([once(child, "message", { signal }), ended]);
    return message;
  } finally {
    stop.abort();
  }
}

/** Every free place has a process, or null: none yet. */
export class ProcessPool {
  readonly #start: () => Promise<Process>;
  readonly #free: (Process | null)[];
  readonly #waiting: ((place: Process | null) => void)[] = [];

  constructor(start: () => Promise<Process>, processes: number) {
    this.#start = start;
    this.#free = Array.from({ length: processes }, () => null);
  }

  /** @throws ServiceError if a process does not start, or gives no verdict */
  async ask(question: object): Promise<Verdict | Reached> {
    let one = await this.#place();
    try {
      for (;;) {
        const isFresh = one === null;
        one ??= await this.#start();
        const found = await one.ask(question);
        if (typeof found !== "string") return found;
        await one.end();
        one = null;
        // A used process keeps some memory of earlier questions.
        if (found === "processor" || isFresh) return found;
      }
    } catch (error) {
      await one?.end();
      one = null;
      throw error;
    } finally {
      this.#leave(one);
    }
  }

  /** Those with a process are taken first. */
  async #place(): Promise<Process | null> {
    const at = this.#free.findLastIndex((one) => one !== null);
    const [place] = this.#free.splice(at < 0 ? 0 : at, 1);
    return place === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : place;
  }

  #leave(place: Process | null): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(place);
    else next(place);
  }
}
