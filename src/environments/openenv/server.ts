/**
 * A server of the OpenEnv protocol (`openenv-core`). Its schema comes over HTTP. An episode is a session, which is a
 * WebSocket: requests over HTTP have an environment each, and can play nothing of more than one step.
 *
 * What the server says is data; what it fails to say is a failure of the service, with one exception: an action that it
 * rejects is the model's.
 */
import { z } from "zod";
import { answerOf, call } from "../../calls/call.ts";
import { exchange } from "../../calls/http.ts";
import type { RetryOptions } from "../../calls/retry.ts";
import { redacting, type Redact } from "../../calls/secrets.ts";
import { Service, type ServiceLog } from "../../calls/services.ts";
import { Socket, UnaskedMessage } from "../../calls/socket.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { jsonOrNull } from "../../json.ts";
import { isTooDeep } from "../../text/files.ts";
import type { Json } from "../environment.ts";
import type { OpenEnvOptions } from "./options.ts";

export type JsonObject = { readonly [key: string]: Json };

/** What the server said after a reset or a step. */
export interface Seen {
  readonly observation: JsonObject;
  /** Null: none. */
  readonly reward: number | null;
  readonly done: boolean;
}

/** The server cannot take an action, with the reason. */
export interface Rejected {
  readonly rejected: string;
}

/** In characters. */
const longestMessage = 2 ** 20;
const longestReason = 300;
/** Milliseconds that the server may take to end a session; its place is free only then. */
const longestGoodbye = 2000;
/** While others have all sessions: about five minutes. */
const untilFree = { retries: 60, firstDelay: 250, longestDelay: 5000 };

const object = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject);
/** Python's `None` and `nan` are null. A truth value is 1 or 0, as in Python. */
const reward = z.union([z.number(), z.boolean().transform(Number), z.null()]).default(null);
const answers = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("observation"),
    data: z.object({ observation: object, reward, done: z.boolean() }),
  }),
  z.object({ type: z.literal("state"), data: object }),
  z.object({
    type: z.literal("error"),
    data: z.looseObject({ message: z.string(), code: z.string().default("none") }),
  }),
]);
type Answer = z.output<typeof answers>;
type ErrorData = Extract<Answer, { type: "error" }>["data"];

export interface OpenEnvSession {
  /** @throws ServiceError: the session is lost */
  step(action: JsonObject, signal: AbortSignal): Promise<Seen | Rejected>;
  /** The state of the environment on the server. @throws ServiceError: the session is lost */
  state(signal: AbortSignal): Promise<JsonObject>;
  /**
   * Answers have no numbers: one too many is taken for that to the next question, and all later ones are late by one. So
   * before a score counts, another kind of question must get another kind of answer. @throws ServiceError
   */
  checkOrder(signal: AbortSignal): Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

const goodbye = JSON.stringify({ type: "close" });

/** All sessions of the server are taken. */
class FullError extends ServiceError {}

export class OpenEnvServer {
  readonly #options: OpenEnvOptions;
  readonly #service: Service;
  readonly #redact: Redact;

  constructor(options: OpenEnvOptions, log: ServiceLog | undefined) {
    this.#options = options;
    this.#service = log?.named("openenv") ?? new Service("openenv");
    this.#redact = redacting(options.token === undefined ? [] : [options.token]);
  }

  /** The JSON schema of actions. @throws ServiceError */
  actionSchema(signal: AbortSignal): Promise<JsonObject> {
    const { url } = this.#options;
    return this.#call(signal, async (own) => {
      const init = { headers: this.#headers(), signal: own };
      const { status, body } = await exchange(this.#address("schema"), init, longestMessage);
      const schemas = z.object({ action: object }).safeParse(this.#read(body.toString("utf8")));
      if (status === 200 && schemas.success) return schemas.data.action;
      throw new ServiceError(
        `${url}/schema answered ${status} without the schema of actions: is it an OpenEnv server?`,
      );
    });
  }

  /** A new session, which has been reset. Waits while others have all. @throws ServiceError */
  open(parameters: JsonObject, signal: AbortSignal): Promise<{ session: OpenEnvSession; seen: Seen }> {
    const address = this.#address("ws");
    address.protocol = address.protocol.replace("http", "ws");
    const isRetried = (error: ServiceError, attempt: number): boolean =>
      error instanceof FullError && attempt < untilFree.retries;
    return this.#call(
      signal,
      async (own) => {
        const socket = await Socket.open(address, this.#headers(), longestMessage, own);
        const ask = async (message: object, within: AbortSignal): Promise<Answer> =>
          this.#answerIn(await socket.ask(JSON.stringify(message), within));
        try {
          const answer = await ask({ type: "reset", data: parameters }, own).catch((error: unknown) => {
            // A server without a place says so at once.
            throw error instanceof UnaskedMessage ? this.#failure(this.#answerIn(error.text)) : error;
          });
          if (answer.type !== "observation") throw this.#failure(answer);
          return { session: this.#session(socket, ask), seen: answer.data };
        } catch (error) {
          await socket.close(goodbye, longestGoodbye);
          throw error;
        }
      },
      { ...untilFree, isRetried },
    );
  }

  #session(socket: Socket, ask: (message: object, signal: AbortSignal) => Promise<Answer>): OpenEnvSession {
    return {
      step: (action, signal) =>
        this.#call(signal, async (own) => {
          const answer = await ask({ type: "step", data: action }, own);
          if (answer.type === "observation") return answer.data;
          const rejected = answer.type === "error" ? this.#rejection(answer.data) : null;
          if (rejected === null) throw this.#failure(answer);
          return { rejected };
        }),
      state: (signal) =>
        this.#call(signal, async (own) => {
          const answer = await ask({ type: "state" }, own);
          if (answer.type === "state") return answer.data;
          throw this.#failure(answer);
        }),
      checkOrder: (signal) =>
        this.#call(signal, async (own) => {
          const { type } = await ask({ type: "state" }, own);
          if (type !== "observation") return;
          throw new ServiceError(`${this.#options.url} answered more often than it was asked`);
        }),
      close: () => socket.close(goodbye, longestGoodbye),
    };
  }

  async #call<T>(
    signal: AbortSignal,
    attempt: (signal: AbortSignal) => Promise<T>,
    retries?: RetryOptions,
  ): Promise<T> {
    const milliseconds = 1000 * this.#options.timeoutSeconds;
    return answerOf(await call(this.#service, attempt, { signal, milliseconds, retries }));
  }

  #address(name: string): URL {
    const { url } = this.#options;
    return new URL(name, url.endsWith("/") ? url : `${url}/`);
  }

  /** @throws TroupeError `bad_arguments` if the token's variable is not set */
  #headers(): Record<string, string> {
    const { token } = this.#options;
    if (token === undefined) return {};
    const value = process.env[token];
    if (value !== undefined && value !== "") return { authorization: `Bearer ${value}` };
    throw new TroupeError(
      "bad_arguments",
      `the environment variable ${token} (environment.token) is not set`,
    );
  }

  #read(text: string): unknown {
    const value = jsonOrNull(text);
    if (isTooDeep(value))
      throw new ServiceError(`${this.#options.url} sent values that are nested too deeply`);
    return this.#redact(value);
  }

  /** @throws ServiceError for nonsense */
  #answerIn(text: string): Answer {
    const answer = answers.safeParse(this.#read(text));
    if (answer.success) return answer.data;
    throw new ServiceError(
      `${this.#options.url} sent a message that is none of the protocol: ${showText(this.#redact(text), longestReason)}`,
    );
  }

  /** The reason why an error is the action's; null: it is not. */
  #rejection({ code, message, errors }: ErrorData): string | null {
    const why = Array.isArray(errors) ? JSON.stringify(errors) : message;
    const isOfAction =
      code === "VALIDATION_ERROR" || (code === "EXECUTION_ERROR" && this.#options.errors === "action");
    return isOfAction ? `the server rejects the action: ${showText(why, longestReason)}` : null;
  }

  #failure(answer: Answer): ServiceError {
    const { url } = this.#options;
    if (answer.type !== "error") return new ServiceError(`${url} sent a message that answers no question`);
    const { code, message } = answer.data;
    const problem = `${url} failed: ${showText(message, longestReason)} (${showText(code, 40)})`;
    if (code === "CAPACITY_REACHED")
      return new FullError(
        `${problem}; set environment.sessions to what it allows, and let nobody else use it`,
      );
    const isOfStep = code === "EXECUTION_ERROR";
    return new ServiceError(
      isOfStep ? `${problem}; if illegal moves raise it, set \`environment.errors: action\`` : problem,
    );
  }
}
