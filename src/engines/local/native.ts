/** The compiled engine's JavaScript interface, its jobs, and its errors as TroupeErrors. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { TroupeError, type ErrorCode } from "../../errors.ts";
import type { ModelShape } from "../../models/model-config.ts";
import type { TensorInfo } from "../../models/safetensors.ts";
import type { TensorInFile } from "../../models/weights.ts";
import type { AdamOptions, BatchSize, Loss, PromptTokens } from "../engine.ts";
import type { FlatBatch, FlatRequest, FlatResult, FlatSamples } from "../flat-data.ts";

export type Precision = "float32" | "bfloat16";
export type TensorKind = "weight" | "gradient" | "moment1" | "moment2";

/** Jobs take effect in the order of the calls. `job` is the number for `cancel`, used once, from 1. */
export interface NativeEngine {
  description(): { readonly kernels: string; readonly threads: number; readonly precision: Precision };
  memoryBytes(): number;
  promptTokens(): PromptTokens;
  /** Bytes that such work takes beside `memoryBytes`. */
  predictMemory(job: number, work: BatchSize): Promise<number>;
  cancel(job: number): void;
  close(): Promise<void>;

  addModel(job: number, name: string, shape: ModelShape): Promise<TensorInfo[]>;
  /** The base of adapters: its matrices are bfloat16 in the files and in memory. `tensors`: all of the model's. */
  addFrozenModel(
    job: number,
    name: string,
    shape: ModelShape,
    tensors: readonly TensorInFile[],
  ): Promise<TensorInfo[]>;
  loadTensors(job: number, policy: string, tensors: readonly TensorInFile[]): Promise<void>;
  addAdapter(
    job: number,
    name: string,
    model: string,
    adapter: {
      readonly rank: number;
      readonly alpha: number;
      readonly targetModules: readonly string[];
      readonly valueHead: boolean;
    },
  ): Promise<TensorInfo[]>;
  remove(job: number, policy: string): Promise<void>;
  readTensor(job: number, policy: string, kind: TensorKind, name: string): Promise<Float32Array>;
  writeTensor(
    job: number,
    policy: string,
    kind: TensorKind,
    name: string,
    values: Float32Array,
  ): Promise<void>;
  stepCount(job: number, policy: string): Promise<number>;
  setStepCount(job: number, policy: string, count: number): Promise<void>;
  setTokenBytes(job: number, model: string, table: { bytes: Uint8Array; lengths: Int32Array }): Promise<void>;

  sample(job: number, request: FlatRequest & { readonly continued: boolean }): Promise<FlatSamples>;
  forward(job: number, data: FlatBatch, top?: number): Promise<FlatResult>;
  forwardBackward(job: number, data: FlatBatch, loss: Loss): Promise<FlatResult>;
  /** The gradient's norm before clipping. */
  optimizerStep(job: number, policy: string, adam: AdamOptions): Promise<number>;
  zeroGradients(job: number, policy: string): Promise<void>;
}

interface Addon {
  readonly NativeEngine: new (threads: number, precision: Precision, cacheBytes: number) => NativeEngine;
  /**
   * Handles SIGINT and SIGTERM before Node's own handlers, which must exist (native/binding/signals.cc). Absent if the
   * addon was compiled from older sources.
   */
  readonly watchSignals?: () => void;
  /** JavaScript runs, and handles the first signal. */
  readonly signalSeen?: () => void;
  /** Ends the process in 2 s. */
  readonly endSoon?: () => void;
}

/** Null without the compiled addon. */
export function nativeSignals(): Pick<Addon, "watchSignals" | "signalSeen" | "endSoon"> | null {
  try {
    return loadAddon(addonFile);
  } catch {
    return null;
  }
}

/** Identifies the compiled addon: another compiler, or other sources, may round differently. */
export function nativeBuild(file: string = addonFile): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 12);
}

const addonFile = fileURLToPath(new URL("../../../native/build/troupe.node", import.meta.url));

/** Starts an engine; `threads` 0 means one per processor. @throws TroupeError `no_engine` without the compiled addon */
export function startNativeEngine(
  threads: number,
  precision: Precision,
  cacheBytes = 2 ** 30,
  file: string = addonFile,
): NativeEngine {
  const addon = loadAddon(file);
  try {
    return new addon.NativeEngine(threads, precision, cacheBytes);
  } catch (error) {
    throw asTroupeError(error);
  }
}

function loadAddon(file: string): Addon {
  try {
    return createRequire(import.meta.url)(file) as Addon;
  } catch (cause) {
    const fix = "Install g++ (or clang++), then run `npm rebuild troupe`, or `npm run install` in a checkout";
    throw new TroupeError("no_engine", `The native engine could not be loaded from ${file}. ${fix}.`, {
      cause,
    });
  }
}

const engineCodes: ReadonlySet<string> = new Set<ErrorCode>([
  "bad_arguments",
  "bad_model",
  "bad_shape",
  "bad_token",
  "too_long",
  "no_memory",
  "no_engine",
  "unsupported",
  "cancelled",
  "internal",
]);

/** An error of the engine keeps its code; anything else that is not a TroupeError becomes `internal`. */
export function asTroupeError(error: unknown): TroupeError {
  if (error instanceof TroupeError) return error;
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const known = code !== undefined && engineCodes.has(code) ? (code as ErrorCode) : "internal";
  return new TroupeError(known, message ?? String(error), { cause: error });
}

/** Starts one job of the native engine with the given number. */
export type StartJob<T> = (native: NativeEngine, job: number) => Promise<T>;

/** Jobs of a native engine, which take effect in the order of the calls. */
export class Jobs {
  readonly #native: NativeEngine;
  /** Unfinished jobs by their signal, which gets one listener: a list of hundreds makes each one more slow to add. */
  readonly #cancellable = new Map<AbortSignal, Set<number>>();
  #lastJob = 0;
  #closing: Promise<void> | undefined;

  constructor(native: NativeEngine) {
    this.#native = native;
  }

  memoryBytes(): number {
    return this.#native.memoryBytes();
  }

  promptTokens(): PromptTokens {
    return this.#native.promptTokens();
  }

  /** Submits one job now; an aborted signal cancels it. Every error is a TroupeError. */
  async run<T>(start: StartJob<T>, signal?: AbortSignal): Promise<T> {
    this.rejectIfClosed();
    if (signal?.aborted === true) throw new TroupeError("cancelled", "Cancelled before it started.");
    const job = ++this.#lastJob;
    if (signal !== undefined) this.#watch(signal, job);
    try {
      return await start(this.#native, job);
    } catch (error) {
      throw asTroupeError(error);
    } finally {
      if (signal !== undefined) this.#unwatch(signal, job);
    }
  }

  #watch(signal: AbortSignal, job: number): void {
    const jobs = this.#cancellable.get(signal) ?? new Set();
    if (jobs.size === 0) signal.addEventListener("abort", this.#cancel);
    this.#cancellable.set(signal, jobs.add(job));
  }

  #unwatch(signal: AbortSignal, job: number): void {
    const jobs = this.#cancellable.get(signal);
    jobs?.delete(job);
    if (jobs === undefined || jobs.size > 0) return;
    this.#cancellable.delete(signal);
    signal.removeEventListener("abort", this.#cancel);
  }

  readonly #cancel = ({ target }: Event): void => {
    for (const job of this.#cancellable.get(target as AbortSignal) ?? []) this.#native.cancel(job);
  };

  /** Cancels every job. May be called repeatedly. */
  close(): Promise<void> {
    this.#closing ??= this.#native.close();
    return this.#closing;
  }

  /** @throws TroupeError `bad_arguments` */
  rejectIfClosed(): void {
    if (this.#closing === undefined) return;
    throw new TroupeError("bad_arguments", "The engine is closed. Open another one.");
  }
}
