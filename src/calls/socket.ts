/**
 * A WebSocket as questions and answers: one message is answered by one, bounded, and whatever comes unasked is a failure.
 * Not covered: a message too many that arrives just after the next question is taken for its answer, which a protocol
 * without numbers must find out by itself.
 */
import { ServiceError } from "../errors.ts";

/** The other side spoke before it was asked. What it said answers no question. */
export class UnaskedMessage extends ServiceError {
  readonly text: string;

  constructor(place: string, text: string) {
    super(`${place} sent a message that nobody asked for`);
    this.text = text;
  }
}

interface Asking {
  readonly answer: (text: string) => void;
  readonly fail: (error: ServiceError) => void;
}

export class Socket {
  readonly #socket: WebSocket;
  readonly #place: string;
  readonly #longest: number;
  #asking: Asking | null = null;
  /** Why no more can be asked; null: it can. */
  #problem: ServiceError | null = null;

  private constructor(socket: WebSocket, place: string, longest: number) {
    this.#socket = socket;
    this.#place = place;
    this.#longest = longest;
    socket.addEventListener("message", ({ data }: { data: unknown }) => this.#hear(data));
    socket.addEventListener("close", () => this.#fail(new ServiceError(`${place} closed the connection`)));
  }

  /**
   * @param longest characters of a message
   * @throws ServiceError if the server cannot be reached
   */
  static async open(
    url: string | URL,
    headers: Readonly<Record<string, string>>,
    longest: number,
    signal: AbortSignal,
  ): Promise<Socket> {
    const place = new URL(url).origin;
    const socket = new WebSocket(url, { headers });
    const opened = Promise.withResolvers<void>();
    const fail = (): void =>
      opened.reject(new ServiceError(`${place} cannot be reached, or has no WebSocket`));
    const cancel = (): void => opened.reject(signal.reason as Error);
    socket.addEventListener("open", () => opened.resolve());
    socket.addEventListener("error", fail);
    socket.addEventListener("close", fail);
    const asked = new Socket(socket, place, longest);
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    try {
      await opened.promise;
      return asked;
    } catch (error) {
      socket.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /**
   * The next message. After a failure, and after the signal was aborted, nothing more can be asked: a late answer would be
   * taken for that to another question.
   * @throws ServiceError
   */
  async ask(text: string, signal: AbortSignal): Promise<string> {
    if (this.#problem !== null) throw this.#problem;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#asking = { answer: resolve, fail: reject };
    const abandon = (): void => this.#fail(new ServiceError("the question was abandoned"));
    signal.addEventListener("abort", abandon);
    if (signal.aborted) abandon();
    else this.#socket.send(text);
    return promise.finally(() => signal.removeEventListener("abort", abandon));
  }

  /** Says goodbye, and waits for the other side to close, up to so many milliseconds. Never rejects. */
  async close(goodbye: string, milliseconds: number): Promise<void> {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    this.#socket.addEventListener("close", () => resolve());
    if (this.#problem !== null || this.#socket.readyState !== WebSocket.OPEN) return this.#socket.close();
    this.#problem = new ServiceError(`the connection to ${this.#place} is closed`);
    this.#socket.send(goodbye);
    const timer = setTimeout(resolve, milliseconds);
    await closed;
    clearTimeout(timer);
    this.#socket.close();
  }

  #hear(data: unknown): void {
    if (this.#problem !== null) return;
    const place = this.#place;
    if (typeof data !== "string")
      return this.#fail(new ServiceError(`${place} sent a message that is no text`));
    if (data.length > this.#longest)
      return this.#fail(new ServiceError(`${place} sent a message of more than ${this.#longest} characters`));
    if (this.#asking === null) return this.#fail(new UnaskedMessage(place, data));
    const { answer } = this.#asking;
    this.#asking = null;
    answer(data);
  }

  /** The first failure counts. */
  #fail(error: ServiceError): void {
    this.#problem ??= error;
    this.#asking?.fail(this.#problem);
    this.#asking = null;
    this.#socket.close();
  }
}
