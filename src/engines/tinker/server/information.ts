/** What a server says about itself, its models and samplers, and requests about sessions. */
import * as schema from "../protocol/schema.ts";
import { readTokenizer } from "../tokenizers.ts";
import { isLocal, type ServedModel } from "./options.ts";
import { pageOf } from "./pages.ts";
import { Rejection } from "./problems.ts";
import { jsonOf, type Call } from "./call.ts";
import type { Service } from "./service.ts";

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

/** Of sessions that are open, the newest first. */
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
