/**
 * `ExportTraceServiceRequest` in protobuf, the encoding that every receiver of OTLP over HTTP accepts.
 * Source: opentelemetry-proto 1.7, trace/v1/trace.proto, common/v1/common.proto.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import { showText } from "../../format.ts";
import { jsonOrNull } from "../../json.ts";
import { bytes, decode, double, encode, fixed64, message, varint, type Field } from "../../protobuf.ts";
import type { Action } from "../../rollout/episode.ts";
import { occurrencesOf } from "../../rollout/navigate.ts";
import type { StoredEpisode } from "../../rollout/stored.ts";
import { mean } from "../../statistics.ts";
import { SinkError, type TimeInterval } from "../sink.ts";

export interface Resource {
  readonly [attribute: string]: string;
}

export function traceRequest(resource: Resource, spans: readonly Span[]): Buffer {
  const scope = message(1, bytes(1, "troupe"));
  const scopeSpans = message(2, scope, ...spans.map((span) => message(2, ...spanFields(span))));
  return encode([message(1, message(1, ...attributes(1, resource)), scopeSpans)]);
}

const kinds = { internal: 1, client: 3 } as const;

function spanFields(span: Span): readonly Field[] {
  return [
    bytes(1, Buffer.from(span.traceId, "hex")),
    bytes(2, Buffer.from(span.spanId, "hex")),
    ...(span.parentSpanId === undefined ? [] : [bytes(4, Buffer.from(span.parentSpanId, "hex"))]),
    bytes(5, span.name),
    varint(6, kinds[span.kind]),
    fixed64(7, nanoseconds(span.interval.start)),
    fixed64(8, nanoseconds(span.interval.end)),
    ...attributes(9, span.attributes),
  ];
}

function nanoseconds(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds * 1000)) * 1000n;
}

function attributes(field: number, values: Readonly<Record<string, Value | undefined>>): readonly Field[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [message(field, bytes(1, key), message(2, valueField(value)))],
  );
}

function valueField(value: Value): Field {
  if (typeof value === "string") return bytes(1, value);
  if (typeof value === "boolean") return varint(2, value ? 1 : 0);
  if (typeof value === "number") return Number.isSafeInteger(value) ? varint(3, value) : double(4, value);
  return message(5, ...value.map((each) => message(1, bytes(1, each))));
}

export interface RejectedSpans {
  readonly count: bigint;
  readonly reason: string;
}

const inJson = z.looseObject({
  partialSuccess: z
    .looseObject({
      rejectedSpans: z.union([z.int(), z.string().regex(/^\d+$/)]).default(0),
      errorMessage: z.string().default(""),
    })
    .nullish(),
});

/**
 * From an `ExportTraceServiceResponse`, or its form in JSON, which some receivers answer with: spans that the receiver did
 * not take, and why. Null: it took all.
 * @throws SinkError for a page, as of a server that answers everything with one: nothing was taken
 */
export function rejectedSpans(response: Buffer, url: string): RejectedSpans | null {
  const decoded = decode(response);
  if (decoded === undefined) return rejectedInJson(response.toString("utf8"), url);
  const partial = decoded.find(({ field }) => field === 1)?.value;
  const fields = partial instanceof Buffer ? (decode(partial) ?? []) : [];
  const count = fields.find(({ field }) => field === 1)?.value;
  const reason = fields.find(({ field }) => field === 2)?.value;
  if (typeof count !== "bigint" || count === 0n) return null;
  return { count, reason: reason instanceof Buffer ? reason.toString("utf8") : "" };
}

function rejectedInJson(text: string, url: string): RejectedSpans | null {
  const { data } = inJson.safeParse(jsonOrNull(text));
  // Other words are none of the specification's, but harmless.
  if (text.trimStart().startsWith("<"))
    throw new SinkError(`${url} is no OTLP receiver: it answered with a page, ${showText(text, 80)}`);
  const { rejectedSpans: count = 0, errorMessage: reason = "" } = data?.partialSuccess ?? {};
  return BigInt(count) === 0n ? null : { count: BigInt(count), reason };
}

export type Value = string | number | boolean | readonly string[];

export interface Span {
  readonly name: string;
  readonly kind: "internal" | "client";
  /** Hexadecimal. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** Milliseconds since 1970. */
  readonly interval: TimeInterval;
  readonly attributes: Readonly<Record<string, Value | undefined>>;
}

export interface SpanContext {
  /** Identifies the run among all others of the service. */
  readonly run: string;
  /** Of the episode's step. */
  readonly interval: TimeInterval;
  /** Whether spans have prompts and replies. */
  readonly contents: boolean;
}

/** Ids are hashes, so an episode that is sent again is the same trace. */
export function spansOf(stored: StoredEpisode, context: SpanContext): readonly Span[] {
  const { episode } = stored;
  const id = (part: string, length: number) =>
    createHash("sha256").update(`${context.run}/${episode.id}/${part}`).digest("hex").slice(0, length);
  const ids = { traceId: id("trace", 32), parent: id("episode", 16) };
  const intervalOf = phaseIntervals(episode.actions, context.interval);
  const actions = episode.actions.map((action): Span => ({
    name: `chat ${action.policy}`,
    kind: "client",
    traceId: ids.traceId,
    spanId: id(`action/${action.id}`, 16),
    parentSpanId: ids.parent,
    interval: intervalOf(action),
    attributes: {
      ...actionAttributes(stored, action),
      ...(context.contents ? contentsOf(stored, action) : {}),
    },
  }));
  return [{ ...episodeSpan(stored, context), traceId: ids.traceId, spanId: ids.parent }, ...actions];
}

function episodeSpan(
  { entry, episode }: StoredEpisode,
  { interval }: SpanContext,
): Omit<Span, "traceId" | "spanId"> {
  const team = entry.evaluation?.team ?? "team";
  return {
    name: `invoke_workflow ${team}`,
    kind: "internal",
    interval,
    attributes: {
      "gen_ai.operation.name": "invoke_workflow",
      "gen_ai.workflow.name": team,
      "gen_ai.conversation.id": episode.id,
      "troupe.step": entry.step,
      "troupe.evaluation": entry.evaluation?.moment,
      "troupe.split": episode.split ?? undefined,
      "troupe.success": entry.success,
      "troupe.score": entry.score,
    },
  };
}

function actionAttributes({ episode, credit }: StoredEpisode, action: Action): Span["attributes"] {
  const occurrences = occurrencesOf(episode, action);
  const own = credit?.find((each) => each.action === action.id);
  const rewards = occurrences.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const average = (of: "team" | "local") =>
    rewards.length === 0 ? undefined : mean(rewards.map((reward) => reward[of]));
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "troupe",
    "gen_ai.request.model": action.policy,
    "gen_ai.agent.name": action.role,
    "gen_ai.conversation.id": episode.id,
    "gen_ai.usage.input_tokens": action.prompt.length,
    "gen_ai.usage.output_tokens": action.tokens.length,
    "gen_ai.response.finish_reasons": [action.stopReason],
    "troupe.action": action.id,
    "troupe.seat": action.seat,
    "troupe.turn": action.turn,
    "troupe.phase": action.phase,
    "troupe.frozen": action.frozen,
    "troupe.policy_version": action.policyVersion ?? undefined,
    "troupe.kept": occurrences.some(({ node }) => node.kept),
    "troupe.reward.team": average("team"),
    "troupe.reward.local": average("local"),
    "troupe.reward.reason": rewards.find(({ reason }) => reason !== undefined)?.reason,
    "troupe.advantage": own?.advantage,
    "troupe.left_out": own?.leftOut,
  };
}

/** The prompt as one message: it was rendered by the model's chat template. */
function contentsOf({ promptText }: StoredEpisode, action: Action): Span["attributes"] {
  const { thinking, text } = action.reply;
  const parts = [
    ...(thinking === undefined ? [] : [{ type: "reasoning", content: thinking }]),
    { type: "text", content: text },
  ];
  const prompt = { role: "user", parts: [{ type: "text", content: promptText(action) }] };
  const reply = { role: "assistant", parts, finish_reason: action.stopReason };
  return {
    "gen_ai.input.messages": JSON.stringify([prompt]),
    "gen_ai.output.messages": JSON.stringify([reply]),
  };
}

function phaseIntervals(actions: readonly Action[], whole: TimeInterval): (action: Action) => TimeInterval {
  const places = [...new Set(actions.map(placeOf))];
  const part = (whole.end - whole.start) / Math.max(1, places.length);
  return (action) => {
    const start = whole.start + part * places.indexOf(placeOf(action));
    return { start, end: start + part };
  };
}

function placeOf({ turn, phase, parent }: Action): string {
  return `${turn}/${phase}/${parent.split(".").length}`;
}
