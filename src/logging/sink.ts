/**
 * A sink takes a run's records elsewhere. It only reads the run's folder, in a process of its own, so that no service
 * can delay or stop a training. What it could not send stays in the folder and is sent by a later update.
 */
import { ServiceError } from "../errors.ts";

export interface Sink {
  /** For messages: "TensorBoard". */
  readonly title: string;
  /**
   * Sends what was recorded since the last update, in whatever process that was. Takes bounded time.
   * @throws SinkError if something could not be sent
   */
  update(): Promise<void>;
  /** Takes bounded time. */
  close(): Promise<void>;
}

interface SinkErrorOptions {
  readonly cause?: unknown;
  /** The same request fails again: a wrong key, a missing program. */
  readonly isPermanent?: boolean;
  /** The service asked to wait. */
  readonly retryAfterSeconds?: number;
}

export class SinkError extends ServiceError {
  readonly isPermanent: boolean;
  readonly retryAfterSeconds: number;

  constructor(message: string, { cause, isPermanent = false, retryAfterSeconds = 0 }: SinkErrorOptions = {}) {
    super(message, { cause, retryAfter: 1000 * retryAfterSeconds });
    this.name = "SinkError";
    this.isPermanent = isPermanent;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
