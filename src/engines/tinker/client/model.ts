/** A model at the server: its requests have sequence numbers, in whose order they take effect. */
import { ServiceError, TroupeError } from "../../../errors.ts";
import type { AdamOptions } from "../../engine.ts";
import {
  decodeOutput,
  encodeCall,
  jsonOfCall,
  outputOfJson,
  type LossOutput,
  type WireDatum,
} from "../protocol/forward-backward.ts";
import * as schema from "../protocol/schema.ts";
import { parsed, understood, Unsettled, type Incoming } from "./answers.ts";
import type { Profile } from "../profiles.ts";
import type { Waiting } from "./requests.ts";
import type { Session } from "./session.ts";
import type { Outgoing } from "./transport.ts";

export interface LossRequest {
  readonly loss: string;
  readonly config: Readonly<Record<string, number | string>>;
  readonly data: readonly WireDatum[];
  readonly forwardOnly: boolean;
}

/** What is kept with saved weights, by servers that keep such notes. */
export type SaveNotes = Pick<
  schema.Bodies["save_weights"],
  "ttl_seconds" | "user_metadata" | "include_optimizer"
>;

/** Requests with the model's identifier and a sequence number. */
type Numbered = "optim_step" | "save_weights" | "save_weights_for_sampler" | "load_weights";

/** What its server does with requests. */
type Habits = Pick<Profile, "encoding" | "countsRepeats" | "keepsModels">;

export class RemoteModel {
  readonly id: string;
  readonly #session: Session;
  readonly #habits: Habits;
  #next = 1;
  /** Why its state at the server is not known; it then accepts nothing more. */
  #lost: unknown = null;

  constructor(session: Session, id: string, habits: Habits) {
    this.#session = session;
    this.id = id;
    this.#habits = habits;
  }

  /**
   * All chunks are submitted at once, the first one last: the server starts with it, when it has the others. Returns
   * the outputs in the data's order, with one set of metrics per chunk. `onSubmitted`: the server has all of them.
   */
  async forwardBackward(
    request: LossRequest,
    waiting: Waiting,
    onSubmitted?: () => void,
  ): Promise<readonly LossOutput[]> {
    const chunks = chunksOf(request.data, await this.#session.open(), this.#habits.encoding);
    const calls = chunks.map((data) => ({ ...request, data, modelId: this.id, seqId: this.#next++ }));
    const later = calls.slice(1).map((call) => {
      const submitted = Promise.withResolvers<void>();
      const output = this.#loss(call, waiting, submitted.resolve).finally(submitted.resolve);
      return { output, submitted: submitted.promise };
    });
    await Promise.all(later.map(({ submitted }) => submitted));
    const first = calls.slice(0, 1).map((call) => this.#loss(call, waiting, onSubmitted));
    const outputs = await Promise.allSettled([...first, ...later.map(({ output }) => output)]);
    const failed = outputs.find(({ status }) => status === "rejected");
    if (failed?.status !== "rejected")
      return outputs.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    // Others were executed, or what came after them: the gradient is incomplete, or was used so.
    const isFollowed = this.#next - 1 > (calls.at(-1)?.seqId ?? 0);
    if ((outputs.length > 1 || isFollowed) && !request.forwardOnly) this.#lost ??= failed.reason;
    throw failed.reason;
  }

  async #loss(
    call: Parameters<typeof encodeCall>[0],
    waiting: Waiting,
    onSubmitted?: () => void,
  ): Promise<LossOutput> {
    const isJson = this.#habits.encoding === "json";
    const outgoing: Outgoing = {
      path: isJson && call.forwardOnly ? "forward" : "forward_backward",
      body: isJson ? jsonOfCall(call) : encodeCall(call),
      wantsProto: !isJson,
    };
    const found = await this.#run(outgoing, call.seqId, waiting, onSubmitted);
    const read = (): LossOutput => {
      const output = found.isProto
        ? understood(outgoing.path, () => decodeOutput(found.body))
        : outputOfJson(parsed(schema.forwardBackwardResult, found, outgoing.path));
      return checkedLength(output, call.data.length);
    };
    return call.forwardOnly ? read() : this.#executed(read);
  }

  /** What changed the model has happened, whether its answer is understood or not: it must not happen again. */
  #executed<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#lost ??= error;
      throw error;
    }
  }

  /** Returns the metrics of the step. */
  async optimStep(adam: AdamOptions, onSubmitted?: () => void): Promise<Readonly<Record<string, number>>> {
    const body = {
      adam_params: {
        learning_rate: adam.learningRate,
        beta1: adam.beta1,
        beta2: adam.beta2,
        eps: adam.epsilon,
        weight_decay: adam.weightDecay,
        grad_clip_norm: adam.clipNorm,
      },
    };
    const seqId = this.#next;
    const found = await this.#numbered("optim_step", body, onSubmitted).catch((error: unknown) => {
      if (this.#next - 1 > seqId) this.#lost ??= error; // what came after it was executed
      throw error;
    });
    return this.#executed(() => parsed(schema.stepped, found, "optim_step").metrics ?? {});
  }

  /** Saves the weights with the optimizer's state, and returns their path. */
  async saveWeights(name: string, notes: SaveNotes = {}): Promise<string> {
    const found = await this.#numbered("save_weights", { path: name, ...notes });
    return parsed(schema.saved, found, "save_weights").path;
  }

  async saveWeightsForSampler(name: string, notes: SaveNotes = {}): Promise<string> {
    const found = await this.#numbered("save_weights_for_sampler", { path: name, ...notes });
    return parsed(schema.saved, found, "save_weights_for_sampler").path;
  }

  /** A sampling session for the current weights. `inflight`: for those at the time of sampling. */
  async sampler(kind: "snapshot" | "inflight", onSubmitted?: () => void): Promise<string> {
    const more = {
      sampling_session_seq_id: this.#session.nextNumber(),
      ...(kind === "inflight" ? { kind } : {}),
    } as const;
    const found = await this.#numbered("save_weights_for_sampler", more, onSubmitted);
    const { sampling_session_id: id, path } = parsed(
      schema.savedForSampler,
      found,
      "save_weights_for_sampler",
    );
    return id ?? this.#samplerOf(path ?? "");
  }

  /** A sampling session for the current weights, saved under a name until they are deleted (session.ts). */
  async savedSampler(
    name: string,
    notes: SaveNotes = {},
  ): Promise<{ readonly id: string; readonly path: string }> {
    const path = await this.saveWeightsForSampler(name, notes);
    return { id: await this.#samplerOf(path), path };
  }

  async #samplerOf(path: string): Promise<string> {
    const { id } = await this.#session.open();
    const number = this.#session.nextNumber();
    const type = "create_sampling_session";
    const body = { session_id: id, sampling_session_seq_id: number, model_path: path, type };
    const created = await this.#session.requests.send(schema.request(type, body));
    return parsed(schema.samplingSessionCreated, created, type).sampling_session_id;
  }

  async loadWeights(path: string, optimizer: boolean): Promise<void> {
    await this.#numbered("load_weights", { path, optimizer });
  }

  async unload(): Promise<void> {
    if (this.#habits.keepsModels === true) return;
    const type = "unload_model";
    await this.#session.requests.run(schema.request(type, { model_id: this.id, type }));
  }

  #numbered<Path extends Numbered>(
    path: Path,
    body: Omit<schema.Bodies[Path], "model_id" | "seq_id" | "type">,
    onSubmitted?: () => void,
  ): Promise<Incoming> {
    const seqId = this.#next++;
    const outgoing = { path, body: { model_id: this.id, seq_id: seqId, type: path, ...body } };
    return this.#run(outgoing, seqId, {}, onSubmitted);
  }

  /** A failure without an answer leaves open whether the request took effect. */
  async #run(
    outgoing: Outgoing,
    seqId: number,
    waiting: Waiting = {},
    onSubmitted?: () => void,
  ): Promise<Incoming> {
    if (this.#lost !== null) throw lostModel(this.#lost);
    let isSubmitted = false;
    try {
      const isOnce = this.#habits.countsRepeats === true;
      return await this.#session.requests.run(outgoing, { ...waiting, isOnce }, () => {
        // It is submitted again if its result gets lost.
        if (!isSubmitted) onSubmitted?.();
        isSubmitted = true;
      });
    } catch (error) {
      const isOpen = isService(error) || error instanceof Unsettled;
      const isAnswered = error instanceof TroupeError && !isOpen && !isService(error.cause);
      // What the server rejected has no place in the order, so the next request takes it.
      if (isAnswered && !isSubmitted && seqId === this.#next - 1) this.#next = seqId;
      else if (!isAnswered || !isSubmitted) this.#lost = error;
      throw error;
    }
  }
}

/** Of fewer sequences, the gradient would be of a part of the data. @throws ServiceError */
function checkedLength(output: LossOutput, length: number): LossOutput {
  if (output.outputs.length === length) return output;
  throw new ServiceError(`The server returned ${output.outputs.length} outputs for ${length} sequences.`);
}

function isService(error: unknown): boolean {
  return error instanceof ServiceError;
}

function lostModel(cause: unknown): ServiceError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ServiceError(
    `The model's state at the server is unknown since a failure (${why}); restore a checkpoint.`,
    {
      cause,
    },
  );
}

export interface ChunkLimits {
  readonly chunkData: number;
  readonly chunkBytes: number;
}

/** In order; a datum beyond the limit of bytes gets a chunk of its own. */
export function chunksOf(
  data: readonly WireDatum[],
  { chunkData, chunkBytes }: ChunkLimits,
  encoding: "protobuf" | "json" = "protobuf",
): readonly WireDatum[][] {
  const chunks: WireDatum[][] = [];
  let bytes = 0;
  for (const datum of data) {
    const own = encoding === "json" ? jsonBytes(datum) : protoBytes(datum);
    const last = chunks.at(-1);
    if (last === undefined || last.length >= chunkData || bytes + own > chunkBytes) {
      chunks.push([datum]);
      bytes = own;
    } else {
      last.push(datum);
      bytes += own;
    }
  }
  return chunks;
}

/** As sent in JSON: every number with its digits and a comma. */
function jsonBytes({ tokens, inputs }: WireDatum): number {
  let bytes = 0;
  for (const values of [tokens, ...Object.values(inputs).map((tensor) => tensor.values)])
    for (const value of values) bytes += String(value).length + 1;
  return bytes;
}

/** As sent in protobuf: whole numbers of tensors take eight bytes. */
function protoBytes({ tokens, inputs }: WireDatum): number {
  return Object.values(inputs).reduce(
    (sum, { values }) => sum + (values instanceof Float32Array ? 4 : 8) * values.length,
    4 * tokens.length,
  );
}
