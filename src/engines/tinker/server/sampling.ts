/** Requests that open sampling sessions, sample in them, and retrieve or cancel what they asked for. */
import { randomInt, randomUUID } from "node:crypto";
import type { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import { loadTokenizer } from "../../../text/tokenizer.ts";
import type { PolicyName, SampleRequest, TopTokens } from "../../engine.ts";
import { tokensOfJson } from "../protocol/forward-backward.ts";
import * as schema from "../protocol/schema.ts";
import { Rejection, jsonOf, type Call } from "./call.ts";
import type { Result } from "./futures.ts";
import type { ServedModel } from "./options.ts";
import { sampleResult, type PromptScores } from "./results.ts";
import type { Sampler, Source } from "./samplers.ts";
import type { Service } from "./service.ts";
import { parsePath } from "./storage.ts";
import { samplerId } from "./training.ts";

export function createSamplingSession(
  service: Service,
  call: Call,
): schema.Answers["create_sampling_session"] {
  const asked = schema.createSamplingSession.parse(jsonOf(call));
  const { session_id: session, sampling_session_seq_id: number } = asked;
  service.session(session, call.owner);
  const id = samplerId(session, number);
  const answer = { type: "create_sampling_session", sampling_session_id: id } as const;
  // A request that arrives again must not lead the first one's clients to weights that its path has got since.
  if (service.samplers.has(id) && isOf(service.samplers.get(id, call.owner), asked)) return answer;
  service.addSampler({ id, owner: call.owner, session, ...sourceOf(service, call, asked) });
  return answer;
}

/** Whether an earlier request like this one made it. */
function isOf({ base, source }: Sampler, { model_path: path, base_model: name }: SourceAsked): boolean {
  if (source.kind === "base") return !path && base.name === name;
  return source.kind === "saved" && source.isEphemeral !== true && source.path === path;
}

interface SourceAsked {
  readonly base_model?: string | null | undefined;
  readonly model_path?: string | null | undefined;
}

function sourceOf(
  service: Service,
  { owner }: Call,
  asked: SourceAsked,
): { readonly base: ServedModel; readonly source: Source } {
  if (!asked.model_path)
    return { base: service.models.served(asked.base_model ?? ""), source: { kind: "base" } };
  const { record, stored } = service.storage.find(parsePath(asked.model_path), owner);
  if (record.critic)
    throw new TroupeError("bad_model", `${asked.model_path} is a critic, which writes no tokens.`);
  return {
    base: service.models.served(record.baseModel),
    source: { kind: "saved", path: asked.model_path, stored },
  };
}

type Asked = z.output<typeof schema.sample>;

export function sample(service: Service, call: Call): schema.Answers["asample"] {
  const asked = schema.sample.parse(jsonOf(call));
  rejectUnsupported(service, asked);
  const sampler = samplerOf(service, call, asked);
  // Without a session, nothing tells clients of one key apart: equal numbers are different requests.
  const isNumbered = Boolean(asked.sampling_session_id) && typeof asked.seq_id === "number";
  const requestId = `${sampler.id}:${isNumbered ? asked.seq_id : randomUUID()}`;
  const future = service.start(requestId, call, (signal) =>
    service.samplers.with(sampler, (policy) => run(service, sampler.base, policy, asked, signal)),
  );
  if (asked.sampling_session_id) service.completions.add(sampler.id, asked.seq_id ?? 0, requestId);
  return {
    ...future,
    sample_sequence_ids: Array.from(
      { length: Math.max(0, asked.num_samples) },
      (_, index) => `${requestId}:${index}`,
    ),
  };
}

function samplerOf(service: Service, call: Call, asked: Asked): Sampler {
  if (asked.sampling_session_id) return service.samplers.get(asked.sampling_session_id, call.owner);
  return { id: `direct:${call.owner}`, owner: call.owner, session: "", ...sourceOf(service, call, asked) };
}

function rejectUnsupported(service: Service, asked: Asked): void {
  const unsupported = {
    topk_prompt_logprobs: asked.topk_prompt_logprobs > 0 && service.engine.capabilities.top !== true,
    topk_sample_logprobs: asked.topk_sample_logprobs > 0,
    target_prompt_logprobs:
      asked.target_prompt_logprobs !== undefined && asked.target_prompt_logprobs !== null,
    prompt_alt_tokens_k: asked.prompt_alt_tokens_k > 0,
  };
  const [found] = Object.entries(unsupported).find(([, isAsked]) => isAsked) ?? [];
  if (found !== undefined) throw new Rejection(422, `${found} is not supported.`);
}

async function run(
  service: Service,
  base: ServedModel,
  policy: PolicyName,
  asked: Asked,
  signal: AbortSignal,
): Promise<Result> {
  const prompt = tokensOfJson(asked.prompt);
  const sampled = service.engine.sample(engineRequest(base, policy, prompt, asked), { signal });
  const [sequences, scores] = await Promise.all([sampled, promptScores(service, policy, prompt, asked)]);
  return sampleResult(sequences, scores);
}

function engineRequest(
  base: ServedModel,
  policy: PolicyName,
  prompt: Int32Array,
  asked: Asked,
): SampleRequest {
  const { sampling_params: given } = asked;
  const stops = [given.stop ?? []].flat();
  const tokens = stops.filter((stop) => typeof stop === "number");
  // Nothing given: the model's own end of text.
  const ends = given.stop === null || given.stop === undefined ? endTokensOf(base) : tokens;
  return {
    policy,
    prompt,
    count: asked.num_samples,
    maxTokens: given.max_tokens ?? 2 ** 31 - 1,
    temperature: given.temperature,
    topK: Math.max(0, given.top_k),
    topP: given.top_p,
    seed: given.seed ?? randomInt(2 ** 47),
    stopTokens: given.stop_tokens ?? ends,
    stopStrings: stops.filter((stop) => typeof stop === "string"),
    continued: true,
  };
}

const endTokens = new WeakMap<ServedModel, readonly number[]>();

function endTokensOf(base: ServedModel): readonly number[] {
  const known = endTokens.get(base) ?? loadTokenizer(base.directory).endTokens;
  endTokens.set(base, known);
  return known;
}

async function promptScores(
  { engine }: Service,
  policy: PolicyName,
  prompt: Int32Array,
  { prompt_logprobs: isScored, prompt_logprobs_last_n: last, topk_prompt_logprobs: count }: Asked,
): Promise<PromptScores> {
  const { length } = prompt;
  const none = { tokens: new Int32Array(), logprobs: new Float32Array() };
  const found = new Float32Array(length).fill(Number.NaN);
  const from = Math.max(1, last ? length - last : 1);
  const answer = (top: TopTokens): PromptScores => ({
    logprobs: isScored ? found : null,
    top: count > 0 ? { ...top, count, length } : null,
  });
  if ((!isScored && count === 0) || length < 2) return answer(none);
  const data = [{ policy, prompt: prompt.slice(0, from), continuations: [{ tokens: prompt.slice(from) }] }];
  const { logprobs, top } = await engine.forward(data, count > 0 ? { top: count } : {});
  found.set(logprobs[0] ?? [], from);
  return answer(top?.[0] ?? none);
}

export function cancelFuture(service: Service, call: Call): schema.Answers["cancel_future"] {
  const { request_id: id } = schema.cancelFuture.parse(jsonOf(call));
  service.futures.cancel(id, call.owner);
  return {};
}

export async function retrieveFutures(
  service: Service,
  call: Call,
): Promise<schema.Answers["retrieve_futures"]> {
  const asked = schema.retrieveFutures.parse(jsonOf(call));
  const { sampling_session_id: id, cloned_sampler_id: client } = asked.target;
  service.samplers.get(id, call.owner);
  for (const each of asked.retrieved_request_ids) service.futures.release(each, call.owner);
  const wait = Math.min(service.options.limits.pollMilliseconds, (asked.timeout ?? Infinity) * 1000);
  const { ids, cursor } = await service.completions.after(id, client, asked.prev_cursor, wait);
  return {
    completions: ids.map((request_id) => {
      const result = service.futures.resultOf(request_id);
      if (result?.failed === true) return { state: "failed", request_id };
      return { state: "finished", request_id, response_payload_uncompressed_size: result?.bytes ?? null };
    }),
    cursor,
  };
}

/** The number that sets the client apart from others of its sampling session. */
export function joinSamplingSession(service: Service, call: Call): schema.Answers["join_sampling_session"] {
  const { sampling_session_id: id } = schema.ofSamplingSession.parse(jsonOf(call));
  const sampler = service.samplers.get(id, call.owner);
  const session = service.session(sampler.session, call.owner);
  session.joined += 1;
  return { type: "join_sampling_session", client_counter: session.joined };
}
