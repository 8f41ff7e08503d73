/**
 * A worker that outlives its process. When that has ended (it crashed, was killed, ran out of memory, hung), another one is
 * started and repeats what changed its policies (journal.ts); then whatever had no answer is asked again. Samples have
 * seeds, and on the processor passes give the same bits again: results are those of a worker that never ended.
 */
import { Service } from "../../calls/services.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { showBytes } from "../../format.ts";
import type { PolicyName } from "../engine.ts";
import { unlessAborted } from "../verb-order.ts";
import type { Answer, WorkerMemory } from "./answers.ts";
import type { FrameArray } from "./frames.ts";
import { checkFiles, filesOf, Journal, type Change, type Kept } from "./journal.ts";
import { GradientsDiscarded, type Asking, type TorchWorker } from "./worker.ts";

export type WorkerProcess = Pick<TorchWorker, "ready" | "memory" | "ask" | "close">;

/** A verb in which so many processes end is given up. */
const mostEnds = 3;
/** Data since the last checkpoint. With more, a process that ends is not replaced. */
const mostBytes = 2 ** 31;

const advice =
  "If it was killed for want of memory, lower engine.trunkTokens, engine.headTokens, engine.rows or engine.cacheBytes.";

export class LastingWorker {
  /** What the first process runs on. @throws TroupeError `no_engine` */
  readonly ready: Promise<Answer>;
  readonly #start: () => WorkerProcess;
  readonly #report: (notice: string) => void;
  readonly #service = new Service("engine", { onlyProblems: true });
  readonly #journal = new Journal();
  /** Why no other process can have its policies. Null: one can. */
  #lost: string | null = null;
  /** Policies that no other process can have, each with the reason: a file that another client deleted, for example. */
  readonly #lostPolicies = new Map<PolicyName, string>();
  #process: WorkerProcess;
  /** Once it has the policies. */
  #restored: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** @param start called at once, and after each end @param report told why another process is started */
  constructor(start: () => WorkerProcess, report: (notice: string) => void = () => {}) {
    this.#start = start;
    this.#report = report;
    this.#process = start();
    this.ready = this.#process.ready;
    this.ready.catch(() => undefined);
  }

  get memory(): WorkerMemory | null {
    return this.#process.memory;
  }

  /** @throws TroupeError what the verb was rejected with; `service` if processes end again and again, or cannot be replaced */
  async ask(
    verb: string,
    header: Readonly<Record<string, unknown>>,
    arrays: Readonly<Record<string, FrameArray>> = {},
    asking: Asking = {},
  ): Promise<Answer> {
    const { signal } = asking;
    for (let ends = 1; ; ends++) {
      const process = this.#process;
      try {
        await (signal === undefined ? this.#restored : unlessAborted(this.#restored, signal));
        const lost = policiesOf(header).find((name) => this.#lostPolicies.has(name));
        if (lost !== undefined && verb === "remove") return this.#forget(lost);
        if (lost !== undefined) throw this.#lostWith(lost);
        const files = filesOf(header);
        const answer = await process.ask(verb, header, arrays, asking);
        this.#keep({ verb, header, arrays, files, gradientNorm: normIn(answer) });
        return answer;
      } catch (error) {
        if (error instanceof GradientsDiscarded) this.#discardGradients(header);
        if (!(error instanceof ServiceError) || error instanceof LostPolicy || this.#isClosed) throw error;
        if (ends === mostEnds || this.#lost !== null) throw this.#givenUp(verb, ends, error);
        this.#restart(process, error.message);
      }
    }
  }

  /** A checkpoint of the policy is complete: a new process begins with it. */
  saved(name: PolicyName, directory: string, optimizer: string): void {
    this.#journal.saved(name, directory, optimizer);
  }

  /** What was saved in a folder is in another one. */
  moved(from: string, to: string): void {
    this.#journal.moved(from, to);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#process.close();
  }

  async #repeatOne(
    process: WorkerProcess,
    { verb, header, arrays, files, gradientNorm, policies }: Kept,
  ): Promise<void> {
    const lost = policiesOf(header).find((name) => this.#lostPolicies.has(name));
    const lose = (reason: string): void => {
      for (const name of policies) this.#lostPolicies.set(name, reason);
    };
    if (lost !== undefined) return lose(this.#lostPolicies.get(lost) ?? "");
    try {
      checkFiles(files);
      checkRepeated(gradientNorm, normIn(await process.ask(verb, header, arrays)));
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      // The same would happen again.
      lose((error as Error).message.replace(/\.$/, ""));
    }
  }

  #forget(name: PolicyName): Answer {
    this.#lostPolicies.delete(name);
    this.#journal.add({ verb: "remove", header: { name }, arrays: {}, files: {} });
    return { header: {}, arrays: {} };
  }

  #lostWith(name: PolicyName): LostPolicy {
    const reason = this.#lostPolicies.get(name) ?? "";
    const what = `The policy ${name} was lost when a worker ended, and another worker cannot have it: ${reason}.`;
    this.#service.ended("failed", what);
    return new LostPolicy(what);
  }

  #keep(change: Change): void {
    if (this.#lost !== null) return;
    this.#journal.add(change);
    if (this.#journal.bytes <= mostBytes) return;
    this.#lost = `the data since the last checkpoint are more than ${showBytes(mostBytes)} and were not kept; make checkpoints more often`;
    this.#journal.clear();
  }

  #discardGradients(header: Readonly<Record<string, unknown>>): void {
    const names = (header["policies"] ?? [header["name"]]) as readonly PolicyName[];
    for (const name of new Set(names))
      this.#keep({ verb: "zeroGradients", header: { name }, arrays: {}, files: {} });
  }

  #givenUp(verb: string, ends: number, error: ServiceError): ServiceError {
    this.#service.ended("failed", error.message);
    const what =
      this.#lost === null
        ? `${ends} workers ended in ${verb}, one after the other; the last: ${error.message} ${advice}`
        : `${error.message} Another worker cannot take its place in ${verb}: ${this.#lost}.`;
    return new ServiceError(what, { cause: error });
  }

  /** By the first of those whose process has ended; the others wait for the same new one. */
  #restart(ended: WorkerProcess, problem: string): void {
    if (this.#process !== ended) return;
    this.#service.retried(problem);
    this.#report(`${problem} Another one is started.`);
    this.#process = this.#start();
    this.#restored = this.#repeat(this.#process);
    this.#restored.catch(() => undefined);
  }

  async #repeat(process: WorkerProcess): Promise<void> {
    try {
      const found = await process.ready.catch((cause: Error) => {
        throw new ServiceError(cause.message, { cause });
      });
      checkSame((await this.ready).header, found.header);
      for (const change of this.#journal.changes) await this.#repeatOne(process, change);
    } catch (error) {
      await process.close();
      if (error instanceof ServiceError) throw error;
      // The same would happen again.
      const { message } = error as Error;
      this.#lost ??= message.replace(/\.$/, "");
      throw new ServiceError("The worker ended.", { cause: error });
    }
  }
}

class LostPolicy extends ServiceError {}

/** Of any verb; the first one of a copy is what it is made of. */
function policiesOf(header: Readonly<Record<string, unknown>>): readonly PolicyName[] {
  const { policies, name, policy } = header;
  return (policies ?? [name ?? policy]) as readonly PolicyName[];
}

const normIn = ({ header }: Answer): number | undefined => header["gradientNorm"] as number | undefined;

/** On a GPU the last bits may differ, unless `deterministic` is set. */
const mostDifference = 0.01;

/** Weights that are others than those of the recorded steps must not pass for them. */
function checkRepeated(first: number | undefined, again: number | undefined): void {
  if (first === undefined || again === undefined) return;
  if (Math.abs(first - again) <= mostDifference * Math.max(first, again)) return;
  const what = `a step that it repeated has a gradient of length ${again}; before, it was ${first}`;
  throw new TroupeError("no_engine", what);
}

/** A GPU that is lost must not become a processor in silence. */
function checkSame(first: Answer["header"], found: Answer["header"]): void {
  const fields = ["device", "precision", "threads", "python", "torch", "transformers", "sampler"];
  const other = fields.find((field) => first[field] !== found[field]);
  if (other === undefined) return;
  const [before, now] = [String(first[other]), String(found[other])];
  throw new TroupeError("no_engine", `it has another ${other} (${now}; before: ${before})`);
}
