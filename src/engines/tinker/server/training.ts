/** Requests that change or save a model. */
import type { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import { checkData, fieldsOf } from "../../checks.ts";
import type { Datum, Loss, LossResult, PolicyOptions, StoredPolicy } from "../../engine.ts";
import { measured } from "../losses.ts";
import {
  callOfJson,
  decodeCall,
  turnOf,
  turnOfBeginning,
  type LossCall,
} from "../protocol/forward-backward.ts";
import { lossOf } from "../protocol/loss-settings.ts";
import { engineData } from "../protocol/losses.ts";
import * as schema from "../protocol/schema.ts";
import { ofTurn, type Answers } from "../protocol/schema.ts";
import { Rejection, bytesOf, jsonOf, forgetJson, asRejection, type Call } from "./call.ts";
import type { Result } from "./futures.ts";
import { adapterOf, type Model } from "./models.ts";
import { jsonResult, lossOutput, lossResultOf } from "./results.ts";
import type { Service } from "./service.ts";
import { checkName, parsePath, textOf, type WeightsKind, type WeightsPath } from "./storage.ts";

export function createModel(service: Service, call: Call): Submitted {
  const asked = schema.createModel.parse(jsonOf(call));
  const { session_id: session, model_seq_id: number, lora_config: lora } = asked;
  service.session(session, call.owner);
  if (asked.optimizer_config && asked.optimizer_config.type !== "adamw")
    throw new Rejection(
      422,
      `The optimizer ${asked.optimizer_config.type} is not supported; there is adamw.`,
    );
  const id = modelId(session, number);
  const future = service.start(id, call, async () => {
    service.models.checkRoom(call.owner);
    const base = service.models.served(asked.base_model);
    const critic = asked.model_role === "critic";
    const adapter = lora ? adapterOf(lora) : null;
    const from = asked.initial_weights && storedAt(service, call, asked.initial_weights);
    await service.models.create(
      { id, owner: call.owner, session, base, adapter, critic, metadata: asked.user_metadata },
      {
        model: base.directory,
        ...(adapter === null ? {} : { adapter }),
        ...(from ? { from } : {}),
        ...(critic ? { valueHead: true } : {}),
      },
    );
    return jsonResult({ model_id: id, type: "create_model" });
  });
  return { ...future, model_id: id };
}

function modelId(session: string, number: number): string {
  return `${session}:train:${number}`;
}

function storedAt(service: Service, { owner }: Call, path: string): StoredPolicy {
  return service.storage.find(parsePath(path), owner).stored;
}

export function forwardBackward(service: Service, call: Call, forwardOnly: boolean): Submitted {
  const read = (): LossCall =>
    call.isProto ? decodeCall(bytesOf(call)) : callOfJson(jsonOf(call), forwardOnly);
  return inTurn(service, call, read, async (model, asked, signal) => {
    const { loss, penalty, hasNoRatio } = lossOf(asked.loss, asked.config);
    const data = engineData(model.id, asked.data, penalty);
    checkData(data, loss);
    if (!asked.forwardOnly) checkInputs(asked.loss, loss, data);
    const result = asked.forwardOnly
      ? measuredForward(data, loss, await service.engine.forward(data, { signal }))
      : await service.engine.forwardBackward(data, loss, { signal });
    return lossResultOf(lossOutput(hasNoRatio === true ? { ...result, clipped: 0 } : result, asked.data));
  });
}

/** @throws TroupeError `bad_arguments` */
function checkInputs(name: string, loss: Loss, data: readonly Datum[]): void {
  const used = new Set<string>(["tokens", ...fieldsOf(loss, data).map((field) => field.name)]);
  const unused = data
    .flatMap(({ continuations }) => continuations.flatMap((each) => Object.keys(each)))
    .find((field) => !used.has(field));
  if (unused === undefined) return;
  throw new TroupeError("bad_arguments", `The loss ${name} does not use the input ${unused}; leave it out.`);
}

/** Engines measure no loss without a gradient. @throws TroupeError `unsupported` for one that they alone can measure */
function measuredForward(data: readonly Datum[], loss: Loss, result: LossResult): LossResult {
  const { logprobs, values, entropy } = result;
  const isOfCritic = values?.some(({ length }) => length > 0) === true;
  if (isOfCritic !== (loss.type === "value")) return result;
  if ("entropy" in loss)
    throw new TroupeError("unsupported", "`forward` does not measure a loss with `entropy`; leave it out.");
  const sums = measured(data, loss, isOfCritic ? (values ?? []) : logprobs);
  const { entropy: _, ...rest } = result;
  return { ...rest, ...sums, logprobs, ...(sums.tokens === result.tokens ? { entropy } : {}) };
}

export function optimStep(service: Service, call: Call): Submitted {
  const read = (): z.output<typeof schema.adamParams> => {
    const asked = schema.optimStep.parse(jsonOf(call));
    if (asked.optimizer_params === undefined) return asked.adam_params ?? schema.adamParams.parse({});
    const { type } = asked.optimizer_params;
    throw new Rejection(422, `The optimizer ${type} is not supported; there is Adam.`);
  };
  return inTurn(service, call, read, async (model, adam) => {
    model.changes += 1;
    const { gradientNorm } = await service.engine.optimStep(model.id, {
      learningRate: adam.learning_rate,
      beta1: adam.beta1,
      beta2: adam.beta2,
      epsilon: adam.eps,
      weightDecay: adam.weight_decay,
      clipNorm: adam.grad_clip_norm,
    });
    return jsonResult({ metrics: gradientNorm === undefined ? {} : { grad_norm: gradientNorm } });
  });
}

/** Saves the weights with the optimizer's state. */
export function saveWeights(service: Service, call: Call): Submitted {
  return inTurn(service, call, posted(schema.saveWeights), async (model, asked) => {
    const name = asked.path ?? `step-${asked.seq_id}`;
    const { path } = await save(service, model, "weights", name, asked);
    return jsonResult({ path: textOf(path), type: "save_weights" });
  });
}

export function saveWeightsForSampler(service: Service, call: Call): Submitted {
  return inTurn(service, call, posted(schema.saveWeightsForSampler), async (model, asked) => {
    const { base, owner, session, changes } = model;
    const { sampling_session_seq_id: number, seq_id } = asked;
    const type = "save_weights_for_sampler";
    // Numbers of sampling sessions are the session's, those of requests the model's.
    const id = typeof number === "number" ? samplerId(session, number) : samplerId(model.id, seq_id);
    if (asked.kind === "inflight") {
      service.addSampler({ id, owner, session, base, source: { kind: "live", model } });
      return jsonResult({ sampling_session_id: id, type });
    }
    const name = asked.path ?? `${ephemeral}${seq_id}`;
    const isEphemeral = !asked.path;
    const options = { ...asked, overwrite: false, isEphemeral };
    const { path, stored } = await save(service, model, "sampler_weights", name, options);
    if (!isEphemeral) return jsonResult({ path: textOf(path), type });
    const source = { kind: "saved", path: textOf(path), stored, model, changes, isEphemeral: true } as const;
    service.addSampler({ id, owner, session, base, source });
    return jsonResult({ sampling_session_id: id, type });
  });
}

/** How names of weights begin that no client gave. */
const ephemeral = "ephemeral-";

/** `of`: the session or model whose number it is. */
export function samplerId(of: string, number: number): string {
  return `${of}:sample:${number}`;
}

interface SaveOptions {
  readonly overwrite: boolean;
  readonly isEphemeral?: boolean;
  readonly ttl_seconds?: number | null | undefined;
  readonly user_metadata?: schema.Metadata;
}

async function save(
  service: Service,
  model: Model,
  kind: WeightsKind,
  name: string,
  { overwrite, isEphemeral = false, ttl_seconds: seconds, user_metadata: metadata }: SaveOptions,
): Promise<{ path: WeightsPath; stored: StoredPolicy }> {
  checkName(name);
  if (!isEphemeral && name.startsWith(ephemeral))
    throw new TroupeError(
      "bad_arguments",
      `Names that begin with ${ephemeral} are for weights without a name.`,
    );
  const path: WeightsPath = { run: model.id, kind, name };
  if (!overwrite && service.storage.exists(path))
    throw new TroupeError("bad_arguments", `${textOf(path)} exists; give another name, or \`overwrite\`.`);
  const { owner, base, adapter, critic } = model;
  service.storage.checkRoom(owner);
  const verb = kind === "weights" ? "checkpoint" : "snapshot";
  const stored = await service.storage.save(path, (place) => service.engine[verb](model.id, place), {
    owner,
    baseModel: base.name,
    adapter,
    critic,
    ...(isEphemeral ? { isEphemeral } : {}),
    ...(seconds ? { expires: timeAfter(seconds) } : {}),
    ...(metadata ? { metadata } : {}),
  });
  return { path, stored };
}

export function timeAfter(seconds: number): string {
  return new Date(Date.now() + 1000 * seconds).toISOString();
}

/** Into a model that exists, or one that this creates. */
export function loadWeights(service: Service, call: Call): Submitted {
  const read = posted(schema.loadWeights);
  if (schema.mayBeOfModel.parse(jsonOf(call)).model_id)
    return inTurn(service, call, read, async (model, asked) => {
      const stored = loadable(service, call, asked.path, asked.optimizer);
      model.changes += 1;
      await service.engine.restore(model.id, stored);
      return jsonResult({ path: asked.path, model_id: model.id, type: "load_weights" });
    });
  const asked = read(call);
  if (!asked.session_id || asked.model_seq_id === null || asked.model_seq_id === undefined)
    throw new Rejection(422, "Give model_id and seq_id, or session_id and model_seq_id.");
  return createFromWeights(service, call, asked.session_id, asked.model_seq_id, asked);
}

function createFromWeights(
  service: Service,
  call: Call,
  session: string,
  number: number,
  asked: z.output<typeof schema.loadWeights>,
): Submitted {
  service.session(session, call.owner);
  const { owner } = call;
  const id = modelId(session, number);
  const future = service.start(id, call, async () => {
    service.models.checkRoom(owner);
    const { record } = service.storage.find(parsePath(asked.path), owner);
    const base = service.models.served(record.baseModel);
    const critic = record.critic || asked.model_role === "critic";
    const stored = loadable(service, call, asked.path, asked.optimizer);
    const { user_metadata: metadata, lora_config: lora, initial_weights: initial } = asked;
    const start = initial === undefined ? null : service.storage.find(parsePath(initial), owner);
    const made = lora ? adapterOf(lora) : null;
    const options: Omit<PolicyOptions, "name"> = {
      model: stored,
      ...(made === null ? {} : { adapter: made }),
      ...(start === null ? {} : { from: start.stored }),
      ...(critic ? { valueHead: true } : {}),
    };
    const { adapter } = start?.record ?? record;
    await service.models.create(
      { id, owner, session, base, adapter: made ?? adapter, critic, metadata },
      options,
    );
    if (asked.optimizer) await service.engine.restore(id, stored);
    return jsonResult({ path: asked.path, model_id: id, type: "load_weights" });
  });
  return { ...future, model_id: id };
}

/** Without the optimizer's state, a checkpoint is a snapshot. @throws TroupeError `bad_model` */
function loadable(service: Service, call: Call, path: string, optimizer: boolean): StoredPolicy {
  const { saved, folder } = storedAt(service, call, path);
  if (optimizer && saved.kind !== "checkpoint")
    throw new TroupeError("bad_model", `${path} has no optimizer state; load it without.`);
  return { saved: { ...saved, kind: optimizer ? "checkpoint" : "snapshot" }, folder };
}

export function unloadModel(service: Service, call: Call): Submitted {
  const { model_id: id } = schema.ofModel.parse(jsonOf(call));
  const model = service.models.get(id, call.owner);
  return service.start(`${id}:unload`, call, async () => {
    await service.models.remove(model);
    return jsonResult({ model_id: id, type: "unload_model" });
  });
}

/** The future of a request. */
type Submitted = Answers["create_model"];

/**
 * A request of a model, which starts in the order of the numbers. It takes its place before anything else of it is looked
 * at, and whatever is wrong with it is its future's result: the number of a request that was rejected at once would hold
 * up all later ones.
 * @param read everything about the request that may be wrong
 * @throws Rejection if it has no number, or no known model
 */
function inTurn<T>(
  service: Service,
  call: Call,
  read: (call: Call) => T,
  work: (model: Model, asked: T, signal: AbortSignal) => Promise<Result>,
): Submitted {
  const { model_id, seq_id } = ofTurn.parse(call.isProto ? turnOfProto(call) : jsonOf(call));
  const model = service.models.get(model_id, call.owner);
  const submitted = service.startInTurn(model, seq_id, call, (signal) =>
    work(model, readOrReject(call, read), signal),
  );
  forgetJson(call); // it may wait for its turn
  return submitted;
}

/** What reads a body of this form. */
function posted<T>(form: z.ZodType<T>): (call: Call) => T {
  return (call) => form.parse(jsonOf(call));
}

function readOrReject<T>(call: Call, read: (call: Call) => T): T {
  try {
    return read(call);
  } catch (error) {
    throw asRejection(error);
  }
}

/** Also of a body that is too large: its number is at the beginning. */
function turnOfProto({ body, problem }: Call): z.input<typeof ofTurn> {
  if (problem === undefined) return turnOf(body);
  const found = turnOfBeginning(body);
  if (found === null) throw problem;
  return found;
}
