/** A worker thread that answers one question at a time. */
import { Worker } from "node:worker_threads";

export interface Thread {
  /** Null: no answer in time, or the thread ended. */
  ask(question: object, milliseconds: number): Promise<boolean | null>;
  end(): Promise<void>;
}

/** A question that needs more memory ends the thread. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };

/** The compiled worker is JavaScript. */
const program = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** Resolves once the thread is ready. It keeps the process alive only while it is asked. */
export async function startThread(): Promise<Thread> {
  const worker = new Worker(program, { resourceLimits });
  let settle: ((message: unknown) => void) | null = null;
  worker.on("message", (message) => settle?.(message));
  worker.on("error", (error) => settle?.(error));
  worker.on("exit", () => settle?.(null));
  const next = () => new Promise<unknown>((resolve) => (settle = resolve));
  const started = await next();
  if (started !== "ready")
    throw new Error("the thread that compares answers does not start", { cause: started });
  worker.unref();
  return {
    ask: async (question, milliseconds) => {
      worker.ref();
      const answer = next();
      const timer = setTimeout(() => settle?.(null), milliseconds);
      // The rule is meant for windows of a browser.
      // eslint-disable-next-line unicorn/require-post-message-target-origin
      worker.postMessage(question);
      const given = await answer;
      clearTimeout(timer);
      worker.unref();
      return typeof given === "boolean" ? given : null;
    },
    end: async () => void (await worker.terminate()),
  };
}
