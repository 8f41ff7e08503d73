/** What a server says of itself, its sessions, models and samplers, and of training runs and saved weights. */
import { Readable } from "node:stream";
import { isLocal } from "../../../calls/listen.ts";
import { savedDirectory } from "../../kind.ts";
import { tarOf } from "../archives/archive.ts";
import * as schema from "../protocol/schema.ts";
import { readTokenizer } from "../tokenizers.ts";
import { pageOf, Rejection, jsonOf, type Call } from "./call.ts";
import type { ServedModel } from "./options.ts";
import type { Service } from "./service.ts";
import { parsePath, textOf, type Kept, type WeightsPath } from "./storage.ts";
import { timeAfter } from "./training.ts";

export function clientConfig({ options: { limits, host } }: Service): schema.Answers["client/config"] {
  return {
    pjwt_auth_enabled: false,
    // On one machine, compressing takes longer than copying.
    proto_compress_fwdbwd: !isLocal(host),
    fwdbwd_max_chunk_len: limits.chunkData,
    fwdbwd_max_chunk_bytes_count: limits.chunkBytes,
    sample_use_retrieve_futures: true,
    sample_join_sampling_session: true,
  };
}

export function dynamicConfig(): schema.Answers["client/dynamic_config"] {
  return { refresh_interval_sec: 300, sample_cancel_enabled: true };
}

export function capabilities({ options, engine }: Service): schema.Answers["get_server_capabilities"] {
  return {
    supported_models: options.models.map(({ name }) => ({
      model_name: name,
      trainable: true,
      sampleable: true,
    })),
    description: engine.description,
    limits: { models: options.limits.models, requests: options.limits.pending },
  };
}

export function createSession(service: Service, call: Call): schema.Answers["create_session"] {
  const { display_name: name, user_metadata: metadata } = schema.createSession.parse(jsonOf(call));
  return { type: "create_session", session_id: service.openSession(call.owner, name, metadata).id };
}

export function heartbeat(service: Service, call: Call): schema.Answers["session_heartbeat"] {
  service.session(schema.ofSession.parse(jsonOf(call)).session_id, call.owner);
  return { type: "session_heartbeat" };
}

export async function finishSession(
  service: Service,
  call: Call,
  [id = ""]: readonly string[],
): Promise<unknown> {
  service.session(id, call.owner);
  await service.endSession(id);
  return {};
}

export function modelInfo(service: Service, call: Call): schema.Answers["get_info"] {
  const model = service.models.get(schema.ofModel.parse(jsonOf(call)).model_id, call.owner);
  const { id, base, adapter, info } = model;
  return {
    type: "get_info",
    model_id: id,
    // The directory is of use to programs of this machine only.
    model_data: {
      arch: null,
      model_name: base.name,
      tokenizer_id: service.options.keys.length === 0 ? base.directory : null,
    },
    model_name: base.name,
    is_lora: adapter !== null,
    lora_rank: adapter?.rank ?? null,
    tokenizer: tokenizerOf(base),
    sizes: info && {
      parameters: info.parameters,
      trainable_parameters: info.trainableParameters,
      max_length: info.maxLength,
      vocabulary_size: info.vocabularySize,
    },
  };
}

const tokenizers = new WeakMap<ServedModel, ReturnType<typeof readTokenizer>>();

function tokenizerOf(base: ServedModel): ReturnType<typeof readTokenizer> {
  const known = tokenizers.get(base) ?? readTokenizer(base.directory);
  tokenizers.set(base, known);
  return known;
}

export function samplerInfo(
  service: Service,
  call: Call,
  [id = ""]: readonly string[],
): schema.Answers["samplers"] {
  const { base, source } = service.samplers.get(id, call.owner);
  return { sampler_id: id, base_model: base.name, model_path: source.kind === "saved" ? source.path : null };
}

/** The owner's open sessions, the newest first. */
export function sessions(service: Service, call: Call): schema.Answers["sessions"] {
  const own = service.sessionsOf(call.owner).toReversed();
  return { sessions: pageOf(call, own, 20).items.map(({ id }) => id) };
}

export function sessionInfo(
  service: Service,
  call: Call,
  [id = ""]: readonly string[],
): schema.Answers["session"] {
  const session = service.sessionsOf(call.owner).find((each) => each.id === id);
  if (session === undefined) throw new Rejection(404, `There is no open session ${id}.`);
  return {
    training_run_ids: service.models.ofSession(id).map((model) => model.id),
    sampler_ids: service.samplers.ofSession(id).map((sampler) => sampler.id),
    user_metadata: session.metadata,
    display_name: session.name,
  };
}

export function weightsInfo(service: Service, call: Call): schema.Answers["weights_info"] {
  const { tinker_path: path } = schema.weightsInfo.parse(jsonOf(call));
  const { baseModel, adapter } = service.storage.find(parsePath(path), call.owner).record;
  return { base_model: baseModel, is_lora: adapter !== null, lora_rank: adapter?.rank ?? null };
}

/** The saved weights of one training run. */
export function checkpoints(
  service: Service,
  call: Call,
  [run = ""]: readonly string[],
): schema.Answers["checkpoints"] {
  return { checkpoints: service.storage.list(call.owner, run).map(checkpoint) };
}

/** The saved weights of all the owner's training runs, the newest first. */
export function allCheckpoints(service: Service, call: Call): schema.Answers["checkpoints"] {
  const { items, cursor } = pageOf(call, service.storage.list(call.owner).toReversed(), 100);
  return { checkpoints: items.map(checkpoint), cursor };
}

type Checkpoint = schema.Answers["checkpoints"]["checkpoints"][number];

function checkpoint({ path, record, bytes }: Kept): Checkpoint {
  return {
    checkpoint_id: `${path.kind}/${path.name}`,
    checkpoint_type: path.kind === "weights" ? "training" : "sampler",
    time: record.time,
    tinker_path: textOf(path),
    size_bytes: bytes,
    public: record.isPublic ?? false,
    user_metadata: record.metadata ?? null,
    expires_at: record.expires ?? null,
  };
}

/** Those of which a model is loaded, or weights are saved; the one used last first. */
export function trainingRuns(service: Service, call: Call): schema.Answers["training_runs"] {
  const { items, cursor } = pageOf(call, runsOf(service, call.owner), 20);
  return { training_runs: [...items], cursor };
}

export function trainingRun(
  service: Service,
  call: Call,
  [id = ""]: readonly string[],
): schema.Answers["training_run"] {
  const found = runsOf(service, call.owner).find((run) => run.training_run_id === id);
  if (found !== undefined) return found;
  throw new Rejection(404, `There is no training run ${JSON.stringify(id)}, and no weights of one are kept.`);
}

function runsOf({ models, storage }: Service, owner: string): readonly schema.Answers["training_run"][] {
  const kept = Map.groupBy(storage.list(owner), ({ path }) => path.run);
  const loaded = new Map(models.ofOwner(owner).map((model) => [model.id, model]));
  const ids = new Set([...loaded.keys(), ...kept.keys()]);
  const runs = [...ids].map((id) => {
    const weights = kept.get(id) ?? [];
    const [model, last] = [loaded.get(id), weights.at(-1)?.record];
    const adapter = model === undefined ? last?.adapter : model.adapter;
    const newest = (kind: WeightsPath["kind"]): Checkpoint | null => {
      const found = weights.findLast(({ path }) => path.kind === kind);
      return found === undefined ? null : checkpoint(found);
    };
    return {
      training_run_id: id,
      base_model: model?.base.name ?? last?.baseModel ?? "",
      model_owner: owner,
      is_lora: Boolean(adapter),
      lora_rank: adapter?.rank ?? null,
      last_request_time: model === undefined ? (last?.time ?? "") : new Date(model.lastRequest).toISOString(),
      last_checkpoint: newest("weights"),
      last_sampler_checkpoint: newest("sampler_weights"),
      user_metadata: model?.metadata ?? null,
    };
  });
  return runs.toSorted((one, other) => (one.last_request_time < other.last_request_time ? 1 : -1));
}

/** Other keys may then load, sample and download the weights, but not list them. */
export function publish(service: Service, call: Call, found: readonly string[]): object {
  service.storage.change(pathOf(found), call.owner, { isPublic: true });
  return {};
}

export function unpublish(service: Service, call: Call, found: readonly string[]): object {
  service.storage.change(pathOf(found), call.owner, { isPublic: false });
  return {};
}

/** Null: the weights stay. */
export function setLifetime(service: Service, call: Call, found: readonly string[]): object {
  const { ttl_seconds: seconds } = schema.lifetimeOf.parse(jsonOf(call));
  service.storage.change(pathOf(found), call.owner, { expires: seconds ? timeAfter(seconds) : undefined });
  return {};
}

export function deleteCheckpoint(service: Service, call: Call, found: readonly string[]): object {
  service.storage.remove(pathOf(found), call.owner);
  return {};
}

/** A tar of the directory for other programs. */
export function archive(service: Service, call: Call, found: readonly string[]): Readable {
  const { stored } = service.storage.find(pathOf(found), call.owner);
  const directory = savedDirectory(stored);
  if (directory === null) throw new Rejection(404, "This server's engine exports no directories.");
  return Readable.from(tarOf(directory));
}

function pathOf([run = "", kind = "", name = ""]: readonly string[]): WeightsPath {
  return parsePath(`tinker://${run}/${kind}/${name}`);
}
