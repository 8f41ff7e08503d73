/** Those who wait for the end, for whom a server that does not answer is tried for a short time only. */
import type { Transport } from "./transport.ts";

/** Milliseconds. */
const probeInterval = 1000;

export class Hurry {
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
