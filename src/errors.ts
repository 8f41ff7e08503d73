/**
 * Every error a user can cause carries a stable `code`, says what was wrong, where, what was expected and what to do.
 * Anything that a model, a coach or a sandboxed program did is data (an action with a reason), never one of these.
 */
export class TroupeError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "TroupeError";
    this.code = code;
  }
}

/**
 * An external service failed: a sandbox, a judge, a model or an engine behind a network. The call is retried; if that
 * does not help, the episode is dropped and counted, and the run continues (src/calls).
 */
export class ServiceError extends TroupeError {
  /** Milliseconds in which it asks not to be asked again. Absent: it does not say. */
  readonly retryAfter?: number;

  constructor(message: string, options?: { cause?: unknown; retryAfter?: number }) {
    super("service", message, options);
    this.name = "ServiceError";
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter;
  }
}

/** Data that are not on this machine and cannot be downloaded now: a plan can do without them. */
export class DataElsewhereError extends TroupeError {
  constructor(message: string) {
    super("bad_data", message);
    this.name = "DataElsewhereError";
  }
}

/** The recipe's budget for a service is used up: the run makes a checkpoint and stops. */
export class BudgetError extends TroupeError {
  constructor(message: string) {
    super("budget", message);
    this.name = "BudgetError";
  }
}

/**
 * A service fails for so long that asking it again would only delay the run, which makes a checkpoint and stops. Not a
 * `ServiceError`: nobody retries it or drops an episode for it.
 */
export class OutageError extends TroupeError {
  /** When the run may be resumed. */
  readonly until: string;

  constructor(message: string, options?: { cause?: unknown; until?: string }) {
    super("service", message, options);
    this.name = "OutageError";
    this.until = options?.until ?? "once the service works";
  }
}

/** `cancelled` is not a failure: it was requested. */
export type ErrorCode =
  | "bad_recipe"
  | "bad_arguments"
  | "bad_model" // config.json, safetensors, tokenizer.json: missing, damaged or of an unknown architecture
  | "bad_shape"
  | "bad_token"
  | "too_long" // a sequence longer than the model allows
  | "bad_run" // a run folder that is missing or damaged
  | "in_use" // a run folder that another process is writing
  | "bad_data" // a data set that is missing, damaged, or not what was expected
  | "bad_environment" // an environment of a module breaks its contract
  | "no_memory"
  | "no_engine" // the native engine could not be built or loaded
  | "no_sandbox" // nothing on this machine can isolate programs
  | "watch" // a limit of the recipe's `watch` stopped the run
  | "budget" // the budget for a service is used up
  | "service" // a sandbox, a judge or an engine failed in spite of retries
  | "unsupported" // not supported by the engine
  | "cancelled"
  | "internal";
