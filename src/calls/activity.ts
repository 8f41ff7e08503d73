/** What a server does, for the person who runs it: a line a minute instead of one per request. */

export type ServerEvent =
  | {
      readonly event: "requests";
      /** By kind. */
      readonly requests: Readonly<Record<string, number>>;
      /** By status. */
      readonly rejected: Readonly<Record<string, number>>;
      /** Requests that ended with an error, and the last one's message. */
      readonly failed: number;
      readonly lastFailure: string | null;
      /** Of the Tinker protocol. */
      readonly sessions?: number;
      readonly models?: number;
      readonly unfinished: number;
    }
  | { readonly event: "session_ended"; readonly session: string; readonly reason: string }
  /** Of the server itself. */
  | { readonly event: "failure"; readonly error: string };

type State = Pick<Extract<ServerEvent, { readonly event: "requests" }>, "sessions" | "models" | "unfinished">;

/** That clients repeat while they wait, and that say nothing. */
const polls: ReadonlySet<string> = new Set(["retrieve_future", "retrieve_futures", "telemetry", "healthz"]);
/** Failures of a minute that are logged; a hostile client could cause any number. */
const mostFailures = 10;

export class Activity {
  readonly #log: (event: ServerEvent) => void;
  readonly #state: () => State;
  #requests: Record<string, number> = {};
  #rejected: Record<string, number> = {};
  #failed = 0;
  #lastFailure: string | null = null;
  #failures = new Set<string>();

  constructor(log: (event: ServerEvent) => void, state: () => State) {
    this.#log = log;
    this.#state = state;
  }

  answered(kind: string): void {
    if (!polls.has(kind)) this.#requests[kind] = (this.#requests[kind] ?? 0) + 1;
  }

  rejected(status: number): void {
    this.#rejected[status] = (this.#rejected[status] ?? 0) + 1;
  }

  /** A request whose result is an error. */
  failed(message: string): void {
    this.#failed += 1;
    this.#lastFailure = message.slice(0, 300);
  }

  sessionEnded(session: string, reason: string): void {
    this.#log({ event: "session_ended", session, reason });
  }

  /** Logs a failure, the same one at most once a minute. */
  failure(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    if (this.#failures.has(text) || this.#failures.size >= mostFailures) return;
    this.#failures.add(text);
    this.#log({ event: "failure", error: text });
  }

  /** Logs what was counted since the last time, unless there is only the sign of life of idle clients. */
  report(): void {
    const [requests, rejected] = [this.#requests, this.#rejected];
    const isIdle = Object.keys(requests).every((kind) => kind === "session_heartbeat");
    if (!isIdle || this.#failed > 0 || Object.keys(rejected).length > 0)
      this.#log({
        event: "requests",
        requests,
        rejected,
        failed: this.#failed,
        lastFailure: this.#lastFailure,
        ...this.#state(),
      });
    [this.#requests, this.#rejected, this.#failed, this.#lastFailure] = [{}, {}, 0, null];
    this.#failures.clear();
  }
}
