/** The Python process of bridge.py. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { sinkEnvironment } from "../settings.ts";
import { SinkError } from "../sink.ts";

const program = fileURLToPath(new URL("./bridge.py", import.meta.url));
/** For one request, in milliseconds: the library waits a minute for its service. */
const patience = 90_000;
/** Time for the library to send what it still holds. */
const lastPatience = 60_000;

interface Answer {
  readonly done?: boolean;
  readonly missing?: string;
  readonly failure?: string;
}

export class Bridge {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #python: string;
  readonly #answers: AsyncIterator<string>;
  readonly #ended: Promise<void>;
  hasEnded = false;
  #problem: Error | null = null;

  constructor(python: string, environment: Readonly<Record<string, string | undefined>>) {
    this.#python = python;
    const env = { ...sinkEnvironment(environment, ["WANDB_"]), PYTHONUNBUFFERED: "1" };
    this.#child = spawn(python, [program], { env, stdio: ["pipe", "pipe", "ignore"] });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#child.stdin.on("error", () => {});
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    this.#child.on("error", (error) => {
      this.#problem = error;
      this.hasEnded = true;
      resolve();
    });
    this.#child.on("close", () => {
      this.hasEnded = true;
      resolve();
    });
  }

  /** @throws SinkError if it failed; the process has then ended */
  async request(value: object): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify(value)}\n`);
    const line = await within(this.#answers.next(), patience);
    const answer = line?.done === false ? readAnswer(line.value) : null;
    if (answer?.done === true) return;
    this.#child.kill("SIGKILL");
    await this.#ended;
    throw this.#failure(line === null, answer);
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    if ((await within(this.#ended, lastPatience)) === null) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #failure(isLate: boolean, answer: Answer | null): SinkError {
    const install = `Install it with \`${this.#python} -m pip install wandb\``;
    if (this.#problem !== null)
      return new SinkError(`${this.#python} cannot be started: ${this.#problem.message}`, {
        isPermanent: true,
      });
    if (answer?.missing !== undefined)
      return new SinkError(`the Python library wandb is missing: ${answer.missing}. ${install}`, {
        isPermanent: true,
      });
    if (isLate) return new SinkError(`no answer within ${patience / 1000} seconds`);
    return new SinkError(answer?.failure ?? "the process of the Python library ended unexpectedly");
  }
}

function readAnswer(line: string): Answer | null {
  try {
    return JSON.parse(line) as Answer;
  } catch {
    return null;
  }
}

/** Null: it took longer. */
async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), milliseconds);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
