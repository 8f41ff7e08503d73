/** Whether a server answers, for people who wait for it. */
import type { ServerSilence } from "../../engine.ts";

export class Contact {
  #silence: { readonly since: number; readonly why: string; readonly isAnswered: boolean } | null = null;

  /** Null: it answers, as far as is known. */
  get silence(): ServerSilence | null {
    if (this.#silence === null) return null;
    const { since, why } = this.#silence;
    return { seconds: (performance.now() - since) / 1000, why };
  }

  /** For how long nothing at all was heard of it; 0: it answers, or something in its place does. */
  get milliseconds(): number {
    return this.#silence === null || this.#silence.isAnswered ? 0 : performance.now() - this.#silence.since;
  }

  /**
   * An answer. One of 5xx is that of a proxy whose server is gone, or of a server that cannot work.
   * @param isBeat of the heartbeat, which a server that cannot work may still answer
   */
  heard(status: number, isBeat: boolean): void {
    if (status >= 500) this.#missed(`HTTP ${status}`, true);
    else if (!isBeat || this.#silence?.isAnswered === false) this.#silence = null;
  }

  /** No answer. */
  missed(why: string): void {
    this.#missed(why, false);
  }

  #missed(why: string, isAnswered: boolean): void {
    this.#silence = { since: this.#silence?.since ?? performance.now(), why, isAnswered };
  }
}
