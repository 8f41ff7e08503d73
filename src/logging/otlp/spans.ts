/**
 * An episode as an OpenTelemetry trace: a span for the episode, and below it one for each action, after the semantic
 * conventions for generative AI (opentelemetry.io/docs/specs/semconv/gen-ai, 1.41).
 *
 * A run's folder has no times of single actions. An episode takes its step's interval, and its phases equal parts of it:
 * they show the order only.
 */
import { createHash } from "node:crypto";
import type { Action } from "../../rollout/episode.ts";
import { occurrencesOf } from "../../rollout/navigate.ts";
import type { StoredEpisode } from "../../rollout/stored.ts";
import { mean } from "../../statistics.ts";
import type { TimeInterval } from "../clock.ts";

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
    "troupe.advantage": credit?.find((each) => each.action === action.id)?.advantage,
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
