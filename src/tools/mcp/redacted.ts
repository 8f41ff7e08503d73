/** The one place through which everything comes that an MCP server says: parsed, then redacted, before anybody reads it. */
import type { Transport, TransportSendOptions } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ErrorCode, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { Redact } from "../../calls/secrets.ts";
import { isTooDeep } from "../../text/files.ts";

/** The transport, whose messages and errors hold no secrets. */
export class RedactedTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #inner: Transport;
  readonly #redact: Redact;

  constructor(inner: Transport, redact: Redact) {
    this.#inner = inner;
    this.#redact = redact;
    const heard: Pick<Transport, "onclose" | "onerror" | "onmessage"> = {
      onclose: () => this.onclose?.(),
      onerror: (error) => this.onerror?.(this.#cleanError(error)),
      onmessage: (message, extra) => this.onmessage?.(this.#clean(message), extra),
    };
    Object.assign(inner, heard);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    // Over HTTP, what the server answers in a wrong form is in the error.
    await this.#inner.send(message, options).catch((error: unknown) => {
      throw this.#cleanError(error);
    });
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  #clean(message: JSONRPCMessage): JSONRPCMessage {
    if (!isTooDeep(message)) return this.#redact(message);
    const id = "id" in message ? message.id : undefined;
    const error = { code: ErrorCode.InternalError, message: "the answer is nested too deeply" };
    return id === undefined || "method" in message
      ? { jsonrpc: "2.0", method: "notifications/dropped" }
      : { jsonrpc: "2.0", id, error };
  }

  /** Without its cause, which holds the same text. Keeps the code of one that could not be started. */
  #cleanError(error: unknown): Error {
    // It quotes a part of the answer, in which a part of a secret may be.
    if (error instanceof SyntaxError) return new Error("its answer is no JSON");
    const { message, code } = (
      error instanceof Error ? error : new Error(String(error))
    ) as NodeJS.ErrnoException;
    return Object.assign(new Error(this.#redact(message)), code === undefined ? {} : { code });
  }
}
