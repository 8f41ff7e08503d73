/** The pieces of an output. Put together again, their `raw` texts are the output. */
import type { ToolCall } from "../messages.ts";

export interface Segment {
  readonly kind: "text" | "thinking" | "calls";
  /** As written, tags included. */
  readonly raw: string;
  /** Of thinking: what stands between its tags. */
  readonly inner?: string;
  readonly calls?: readonly ToolCall[];
}

/** Finds the calls in text outside thinking. Text stays text; nothing throws. */
export type CallParser = (text: string) => Segment[];

export function textSegment(raw: string): Segment[] {
  return raw === "" ? [] : [{ kind: "text", raw }];
}
