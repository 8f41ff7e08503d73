/** Programs that the benchmark talks to in lines of JSON, such as the peer: peers/peer.py in its own process. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { TroupeError } from "../src/errors.ts";
import type { Side } from "./alternate.ts";
import type { ModelName } from "./shapes.ts";

/** A program that reads lines of JSON and writes lines of JSON. */
export class LineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #complaints: string[] = [];

  constructor(program: string, args: readonly string[], threads: number) {
    const libraries = {
      OMP_NUM_THREADS: String(threads),
      TOKENIZERS_PARALLELISM: "false",
      HF_HUB_OFFLINE: "1",
    };
    this.#child = spawn(program, [...args], { env: { ...process.env, ...libraries } });
    this.#child.on("error", (error) => this.#complaints.push(error.message));
    this.#child.stdin.on("error", () => undefined); // the output of a program that died ends
    createInterface(this.#child.stderr).on("line", (line) => this.#keep(line));
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** The end of what it wrote to stderr. */
  get complaint(): string {
    return this.#complaints.length === 0 ? "it said nothing" : this.#complaints.join("\n");
  }

  send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Its next line; undefined: it ended. */
  async next(): Promise<unknown> {
    const line = await this.#lines.next();
    return line.done === true ? undefined : JSON.parse(line.value);
  }

  close(): void {
    this.#child.stdin.end();
  }

  #keep(line: string): void {
    if (line.trim() !== "") this.#complaints.push(line);
    if (this.#complaints.length > 20) this.#complaints.shift();
  }
}

export interface PeerVersions {
  readonly torch: string;
  readonly transformers: string;
  readonly threads: number;
}

export interface PeerRequest {
  readonly verb: "train" | "sample";
  readonly model: ModelName;
  readonly precision: "float32" | "bfloat16";
  readonly batch?: number;
}

const script = fileURLToPath(new URL("peers/peer.py", import.meta.url));

export class Peer {
  readonly versions: PeerVersions;
  readonly #process: LineProcess;

  private constructor(program: LineProcess, versions: PeerVersions) {
    this.#process = program;
    this.versions = versions;
  }

  /** @throws TroupeError `bad_arguments` if the interpreter does not run or lacks the libraries */
  static async start(python: string, threads: number): Promise<Peer> {
    const program = new LineProcess(python, [script, String(threads)], threads);
    const versions = await program.next();
    if (versions !== undefined) return new Peer(program, versions as PeerVersions);
    throw new TroupeError(
      "bad_arguments",
      `The peer ${python} could not be started (${program.complaint}). Run \`npm run bench -- --make-peers\`, or name a ` +
        `Python that has torch and transformers with --peers.`,
    );
  }

  /** One call of the request's work, timed by the peer. */
  side(name: string, request: PeerRequest): Side {
    return { name, once: () => this.#ask(request) };
  }

  async #ask(request: PeerRequest): Promise<number> {
    this.#process.send(request);
    const answer = await this.#process.next();
    if (answer !== undefined) return (answer as { seconds: number }).seconds;
    const what = JSON.stringify(request);
    throw new TroupeError(
      "internal",
      `The peer ended during ${what}; run bench/peers/peer.py by hand to see why.`,
    );
  }

  close(): void {
    this.#process.close();
  }
}
