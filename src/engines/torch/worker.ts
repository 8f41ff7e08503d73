/** The Python process of the engine `torch`: requests and answers by number, and what it means when it ends. */
import { appendFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startGroup, type Group } from "../../calls/child.ts";
import { command } from "../../command-line.ts";
import { passedOn, redacting, type Redact } from "../../calls/secrets.ts";
import { ServiceError, TroupeError, type ErrorCode } from "../../errors.ts";
import { showText } from "../../format.ts";
import { isPresentSync } from "../../present.ts";
import { memorySchema, type Answer, type AnswerCheck, type WorkerMemory } from "./answers.ts";
import { readMessages, writeMessage, type FrameArray, type Message } from "./frames.ts";

interface WorkerOptions {
  /** The interpreter, with PyTorch and transformers. */
  readonly python: string;
  /** Of the Python side (python/troupe_torch/worker.py). */
  readonly settings: Readonly<Record<string, unknown>>;
  /** File to which its standard error is appended. Absent: only the end of it is kept, for messages. */
  readonly log?: string | undefined;
  /** Longest time without a sign of progress. */
  readonly timeoutSeconds: number;
}

export interface Asking {
  readonly signal?: AbortSignal | undefined;
  /** Of the answer. Absent: nothing of it is used. */
  readonly check?: AnswerCheck;
}

/** Besides those that every program gets. None of them holds a secret. */
const variables = [
  "CUDA_VISIBLE_DEVICES",
  "CUDA_HOME",
  "LD_LIBRARY_PATH",
  "HF_HOME",
  "HF_HUB_CACHE",
  "XDG_CACHE_HOME",
  "OMP_NUM_THREADS",
  "PYTORCH_CUDA_ALLOC_CONF",
  "PYTORCH_ALLOC_CONF",
];

/** Variables whose values must not be repeated from what the worker writes. It gets none of them. */
function secretNames(): readonly string[] {
  return Object.keys(process.env).filter((name) => /KEY|TOKEN|SECRET|PASSWORD/i.test(name));
}

const folder = fileURLToPath(new URL("../../../python", import.meta.url));
const longestQuote = 2000;
const longestLine = 65_536;

interface Pending {
  readonly given: PromiseWithResolvers<Answer>;
  readonly verb: string;
  readonly check?: AnswerCheck | undefined;
}

export class TorchWorker {
  readonly #group: Group;
  readonly #pending = new Map<number, Pending>();
  readonly #hello = Promise.withResolvers<Answer>();
  readonly #timeout: number;
  #lastId = 0;
  #lastHeard = performance.now();
  #clock: NodeJS.Timeout | undefined;
  #memory: WorkerMemory | null = null;
  #isReady = false;
  #failure: TroupeError | null = null;

  /** @throws TroupeError `no_engine` if there is no such program */
  constructor({ python, settings, log, timeoutSeconds }: WorkerOptions) {
    const group = startGroup({
      run: [python, "-u", "-m", "troupe_torch", JSON.stringify(settings)],
      directory: process.cwd(),
      env: { ...passedOn(variables), PYTHONPATH: folder, PYTHONNOUSERSITE: "1", PYTHONSAFEPATH: "1" },
    });
    if (group instanceof Error) throw noPython(python, group.message);
    this.#group = group;
    this.#timeout = 1000 * timeoutSeconds;
    const { child } = group;
    const last = hearErrors(child.stderr, log, redacting(secretNames()));
    child.stdin.on("error", () => {}); // its end says more
    readMessages(
      child.stdout,
      (message) => this.#hear(message),
      (problem) => group.kill(problem),
    );
    this.#pending.set(0, { given: this.#hello, verb: "its start" });
    this.#watch();
    void group.ended.then((problem) => this.#ended(python, problem, last()));
    this.#hello.promise.catch(() => undefined);
  }

  /** What it runs on, once it is ready. @throws TroupeError `no_engine` */
  get ready(): Promise<Answer> {
    return this.#hello.promise;
  }

  /** As it last said. Null: not yet. */
  get memory(): WorkerMemory | null {
    return this.#memory;
  }

  /** @throws TroupeError what the verb was rejected with; `service` if the worker has ended, `no_engine` if it never began */
  async ask(
    verb: string,
    header: object,
    arrays: Readonly<Record<string, FrameArray>> = {},
    { signal, check }: Asking = {},
  ): Promise<Answer> {
    if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before it started.");
    if (this.#failure !== null) throw this.#failure;
    const id = ++this.#lastId;
    const given = Promise.withResolvers<Answer>();
    this.#pending.set(id, { given, verb, check });
    this.#watch();
    writeMessage(this.#group.child.stdin, { header: { ...header, id, verb }, arrays });
    const cancel = (): void =>
      writeMessage(this.#group.child.stdin, { header: { verb: "cancel", id: 0, target: id }, arrays: {} });
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await given.promise;
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** Of its process, for tests. */
  get pid(): number | undefined {
    return this.#group.child.pid;
  }

  async close(): Promise<void> {
    this.#failure ??= new TroupeError("cancelled", "The engine was closed.");
    this.#group.kill(null);
    await this.#group.ended;
  }

  #hear({ header, arrays }: Message): void {
    this.#lastHeard = performance.now();
    const { id, error } = header as { id: number; error?: RemoteError };
    this.#isReady ||= id === 0 && error === undefined;
    if (error !== undefined && typeof error?.message !== "string")
      return this.#group.kill("it wrote an error without a message");
    const { given, verb = "", check } = this.#pending.get(id) ?? {};
    const problem = error === undefined ? (check?.({ header, arrays }) ?? null) : null;
    if (problem !== null) return this.#group.kill(`it answered ${verb} with ${problem}`);
    this.#memory = memorySchema.safeParse(header).data ?? this.#memory;
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#rest();
    if (error === undefined) given?.resolve({ header, arrays });
    else given?.reject(rejection(error));
  }

  #ended(python: string, problem: string | null, written: string): void {
    const text = showText(written.trim().slice(-longestQuote), longestQuote);
    const wrote = text === "" ? "" : ` It last wrote: ${text}`;
    if (this.#group.child.pid === undefined) this.#failure ??= noPython(python, problem ?? "");
    const what = `The worker of the engine \`torch\` (${python}) ended: ${problem ?? "it exited"}.${wrote}`;
    // After one that has worked, another may (lasting-worker.ts).
    this.#failure ??= this.#isReady ? new ServiceError(what) : new TroupeError("no_engine", what);
    this.#rest();
    for (const { given } of this.#pending.values()) given.reject(this.#failure);
    this.#pending.clear();
  }

  /** Until no request is left. */
  #watch(): void {
    if (this.#clock !== undefined) return;
    this.#lastHeard = performance.now();
    this.#clock = setInterval(() => this.#check(), Math.min(this.#timeout, 1000)).unref();
  }

  #check(): void {
    if (performance.now() - this.#lastHeard < this.#timeout) return;
    const verbs = [...new Set(Array.from(this.#pending.values(), ({ verb }) => verb))].join(", ");
    const limit = `${this.#timeout / 1000} s; a slow machine needs a larger engine.timeoutSeconds`;
    this.#group.kill(`it gave no sign of progress in ${verbs} for ${limit}`);
  }

  #rest(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }
}

interface RemoteError {
  readonly code: ErrorCode;
  readonly message: string;
  /** Its policies have no gradients now. */
  readonly discarded?: boolean;
  readonly fix?: string | null;
}

/** What to do about errors of the Python side, which does not know how this program is called. */
const fixes: Readonly<Record<string, () => string>> = {
  python: () => `\`${command("engine", "install", "torch")}\` makes a Python that has it`,
  bitsandbytes: () =>
    `\`${command("engine", "install", "torch", "--quantise")}\` installs it in the engine's own Python`,
};

/** A verb was rejected, or cancelled, and the gradients of its policies are zero. */
export class GradientsDiscarded extends TroupeError {}

function rejection({ code, message, discarded = false, fix }: RemoteError): TroupeError {
  const more = fixes[fix ?? ""];
  const text = more === undefined ? message : `${message}; ${more()}`;
  return new (discarded ? GradientsDiscarded : TroupeError)(code, sentence(text));
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

/** @returns the end of what was written so far */
function hearErrors(stream: NodeJS.ReadableStream, log: string | undefined, redact: Redact): () => string {
  let [last, line, unwritten] = ["", "", ""];
  const keep = (text: string): void => {
    const clean = redact(text);
    last = (last + clean).slice(-longestQuote);
    if (log === undefined) return;
    unwritten = (unwritten + clean).slice(-longestLine);
    // The run's folder is made after its engine.
    if (!isPresentSync(path.dirname(log))) return;
    appendQuietly(log, unwritten);
    unwritten = "";
  };
  // Whole lines, within which a secret is found.
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const lines = (line + chunk).split("\n");
    line = (lines.pop() ?? "").slice(-longestLine);
    for (const one of lines) keep(`${one}\n`);
  });
  stream.on("end", () => keep(line));
  return () => last;
}

/** A full disk is reported by what the run itself writes. */
function appendQuietly(file: string, text: string): void {
  try {
    appendFileSync(file, text);
  } catch {
    // Nothing depends on it.
  }
}

function noPython(python: string, problem: string): TroupeError {
  const why = problem.endsWith("ENOENT") ? "there is no such program" : problem;
  const fix = `\`${command("engine", "install", "torch")}\` installs one; \`engine.python\` or TROUPE_TORCH_PYTHON names another`;
  return new TroupeError("no_engine", `${python} cannot be started (${why}); ${fix}.`);
}
