/** What a server says of its queue and its capacity, for people who wait for it. */
import { z } from "zod";
import type { ServerLoad } from "../../engine.ts";
import * as schema from "../protocol/schema.ts";
import { jsonOf, type Incoming } from "./answers.ts";
import type { Contact } from "./transport.ts";

/** What the answers of one server say. */
export class ServerQueue {
  readonly #server: string;
  readonly #contact: Contact;
  #waiting = 0;
  #queue: string | null = null;
  #capacity: string | null = null;

  constructor(url: string, contact: Contact) {
    this.#contact = contact;
    this.#server = URL.parse(url)?.host ?? url;
  }

  get now(): ServerLoad {
    const queue = this.#waiting === 0 ? null : this.#queue;
    const { silence } = this.#contact;
    return { server: this.#server, waiting: this.#waiting, queue, capacity: this.#capacity, silence };
  }

  /** Counts a request until its result is there. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    try {
      return await work();
    } finally {
      this.#waiting -= 1;
    }
  }

  /** A submission was. */
  accepted(): void {
    if (this.#queue === busy) this.#queue = null;
  }

  /** A rejected submission, or the answer to a poll for a result. */
  hear(answer: Incoming): void {
    if (answer.status === 429) this.#queue = busy;
    else if (answer.status < 300 && answer.isProto) this.#queue = null;
    else this.#queue = queueOf(answer);
  }

  /** What the server says of itself. */
  describe({ supported_models: models, limits }: z.output<typeof schema.capabilities>): void {
    const lengths = models.flatMap(({ max_context_length: length }) => length ?? []);
    const found = [
      ...(limits?.models === undefined ? [] : [`${limits.models.toLocaleString("en-US")} models`]),
      ...(limits?.requests === undefined ? [] : [`${limits.requests.toLocaleString("en-US")} requests`]),
      ...(lengths.length === 0
        ? []
        : [`${Math.max(...lengths).toLocaleString("en-US")} tokens per sequence`]),
    ];
    this.#capacity = found.length === 0 ? null : `at most ${found.join(", ")}`;
  }
}

const busy = "busy: it accepts no more requests now";

const states: Readonly<Record<string, string>> = {
  active: "",
  paused_capacity: "paused for lack of capacity",
  paused_rate_limit: "paused by its rate limit",
};

/** Null: it says nothing, or works on it. */
function queueOf(answer: Incoming): string | null {
  const { data } = schema.tryAgain.safeParse(jsonOf(answer));
  const { queue_state: state, queue_state_reason: reason } = data ?? {};
  const parts = [state ? (states[state] ?? state) : "", reason ?? ""].filter((part) => part !== "");
  return parts.length === 0 ? null : parts.join(": ");
}
