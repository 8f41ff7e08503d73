/**
 * Lossless JSON for episodes: the same tokens, and the same bits of every log-probability. Prompts are referenced by
 * the hash of their tokens, so that each is stored once.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { checkArgument } from "../arguments.ts";
import { TroupeError } from "../errors.ts";
import { episodeVersion } from "./episode.ts";
import type { Action, Episode } from "./episode.ts";

const message = z.looseObject({ role: z.string(), content: z.string() });

/** A float32 as the shortest decimal that identifies it; non-finite values by name. */
const float32 = z.union([z.number(), z.literal(["NaN", "Infinity", "-Infinity", "-0"])]);

// Strict objects: an unlisted key is an error for the next reader instead of being lost.
const reward = z.strictObject({
  team: z.number(),
  local: z.number(),
  parts: z.record(z.string(), z.number()),
  terms: z.record(z.string(), z.number()).optional(),
  reason: z.string().optional(),
});

const verdict = z.union([
  z.strictObject({
    score: z.number(),
    explanation: z.string().optional(),
    blame: z.string().nullable().optional(),
  }),
  z.strictObject({ failure: z.string() }),
]);

const evidence = z.strictObject({
  output: z.string().optional(),
  files: z
    .array(
      z.strictObject({
        path: z.string(),
        size: z.number(),
        digest: z.string().optional(),
        note: z.string().optional(),
      }),
    )
    .optional(),
});

const edge = z.strictObject({
  action: z.string(),
  reward: reward.nullable(),
  verdict: verdict.optional(),
  environmentReward: reward.optional(),
  evidence: evidence.optional(),
});

const reply = z.looseObject({ text: z.string(), truncated: z.boolean() });

const pending = z.strictObject({
  answered: z.record(z.string(), z.strictObject({ messages: z.array(message), calls: z.int() })),
  replies: z.record(z.string(), reply),
});

const node = z.strictObject({
  id: z.string(),
  parent: z.string().nullable(),
  turn: z.int(),
  phase: z.int(),
  state: z.unknown(),
  rendered: z.string().optional(),
  observations: z.record(z.string(), z.union([z.string(), z.array(message)])),
  actions: z.array(edge),
  done: z.boolean(),
  score: z.number().optional(),
  kept: z.boolean(),
  endedEarly: z.boolean().optional(),
  pending: pending.optional(),
});

const action = z.strictObject({
  id: z.string(),
  parent: z.string(),
  seat: z.string(),
  role: z.string(),
  policy: z.string(),
  policyVersion: z.int().nullable(),
  turn: z.int(),
  phase: z.int(),
  sample: z.int(),
  frozen: z.boolean(),
  /** The hash of the prompt's tokens, see `promptHash`. */
  prompt: z.string(),
  tokens: z.array(z.int()),
  logprobs: z.array(float32),
  entropies: z.array(float32).optional(),
  reply,
  stopReason: z.enum(["stop", "length"]),
  branch: z.string().optional(),
  masked: z.string().optional(),
});

const outcome = z.strictObject({ success: z.boolean(), score: z.number() });

const episodeSchema = z.strictObject({
  schema_version: z.literal(episodeVersion),
  id: z.string(),
  path: z.array(z.union([z.string(), z.number()])),
  split: z.string().nullable(),
  task: z.unknown(),
  nodes: z.array(node).min(1),
  actions: z.array(action),
  ends: z.array(
    z.strictObject({ node: z.string(), outcome, turns: z.int(), problem: z.string().optional() }),
  ),
});

const typedArrays = {
  prompt: z.instanceof(Int32Array),
  tokens: z.instanceof(Int32Array),
  logprobs: z.instanceof(Float32Array),
  entropies: z.instanceof(Float32Array).optional(),
};

const jsonValue = z.custom((value) => isJson(value), "expected JSON");
const inMemory = episodeSchema.extend({
  task: jsonValue,
  nodes: z.array(node.extend({ state: jsonValue })).min(1),
  actions: z.array(action.extend(typedArrays)),
});

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

/** @throws TroupeError `bad_arguments` if the value is not an episode that can be recorded */
export function checkEpisode(name: string, value: unknown): void {
  checkArgument(name, inMemory, value);
  try {
    checkReferences(value as Episode, name);
  } catch (error) {
    throw error instanceof TroupeError ? new TroupeError("bad_arguments", error.message) : error;
  }
}

/** An episode as JSON. */
export type EpisodeJson = z.output<typeof episodeSchema>;

export interface EncodedEpisode {
  readonly json: EpisodeJson;
  /** The tokens of the referenced prompts, by hash. */
  readonly prompts: ReadonlyMap<string, Int32Array>;
}

export function encodeEpisode(episode: Episode): EncodedEpisode {
  const prompts = new Map<string, Int32Array>();
  const hashes = new Map<Int32Array, string>();
  const actions = episode.actions.map((one): EpisodeJson["actions"][number] => {
    const hash = hashes.get(one.prompt) ?? promptHash(one.prompt);
    hashes.set(one.prompt, hash);
    prompts.set(hash, one.prompt);
    const [tokens, logprobs] = [[...one.tokens], Array.from(one.logprobs, float32ToJson)];
    const entropies =
      one.entropies === undefined ? {} : { entropies: Array.from(one.entropies, float32ToJson) };
    return {
      ...one,
      prompt: hash,
      tokens,
      logprobs,
      ...entropies,
      reply: { ...one.reply },
    } as EpisodeJson["actions"][number];
  });
  return { json: { ...episode, actions } as EpisodeJson, prompts };
}

/**
 * @param promptOf the tokens of a prompt by hash; actions that share a prompt share the array
 * @param where for messages
 * @throws TroupeError `bad_run` if the value is not an episode, or references something missing
 */
export function decodeEpisode(
  value: unknown,
  promptOf: (hash: string) => Int32Array | undefined,
  where: string,
): Episode {
  const parsed = episodeSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw damaged(where, `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "unexpected"}`);
  }
  // Not what was parsed, whose keys are in the order of the schema: an episode that is stored again has the same bytes.
  const json = value as EpisodeJson;
  checkReferences(json, where);
  const actions = json.actions.map((one) => {
    const prompt = promptOf(one.prompt);
    if (prompt === undefined) throw damaged(where, `the prompt ${one.prompt} is missing`);
    const [tokens, logprobs] = [Int32Array.from(one.tokens), Float32Array.from(one.logprobs, Number)];
    const entropies =
      one.entropies === undefined ? {} : { entropies: Float32Array.from(one.entropies, Number) };
    return { ...one, prompt, tokens, logprobs, ...entropies } as Action;
  });
  return { ...json, actions } as Episode;
}

/** Depends on the tokens only: the same prompt has the same hash in every run. 128 bits, in hexadecimal. */
export function promptHash(tokens: Int32Array): string {
  const bytes = Buffer.from(tokens.buffer, tokens.byteOffset, tokens.byteLength);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 32);
}

/** The shortest decimal that rounds to a float32: `-0.1` instead of `-0.10000000149011612`. */
function float32ToJson(value: number): z.output<typeof float32> {
  if (Object.is(value, -0)) return "-0";
  if (!Number.isFinite(value)) return String(value) as "NaN";
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** The invariants that navigation relies on. */
function checkReferences(
  { nodes, actions, ends }: Pick<EpisodeJson | Episode, "nodes" | "ends" | "actions">,
  where: string,
): void {
  const [seen, ids] = [new Set<string>(), new Set(actions.map(({ id }) => id))];
  for (const [index, { id, parent, actions: edges }] of nodes.entries()) {
    const isRoot = index === 0 && parent === null;
    if (!isRoot && (parent === null || !seen.has(parent))) throw damaged(where, `node ${id} has no parent`);
    if (seen.has(id)) throw damaged(where, `there are two nodes ${id}`);
    const stray = edges.find((one) => !ids.has(one.action));
    if (stray !== undefined) throw damaged(where, `there is no action ${stray.action}`);
    seen.add(id);
  }
  if (ids.size < actions.length) throw damaged(where, "two actions have the same id");
  const long = actions.find(({ tokens, logprobs, entropies = tokens }) =>
    [logprobs, entropies].some(({ length }) => length !== tokens.length),
  );
  if (long !== undefined)
    throw damaged(where, `action ${long.id} does not have one log-probability, or one entropy, per token`);
  const lost = [...actions.map(({ parent }) => parent), ...ends.map((end) => end.node)];
  const unknown = lost.find((id) => !seen.has(id));
  if (unknown !== undefined) throw damaged(where, `there is no node ${unknown}`);
}

function damaged(where: string, problem: string): TroupeError {
  return new TroupeError("bad_run", `${where} is not a valid episode: ${problem}.`);
}
