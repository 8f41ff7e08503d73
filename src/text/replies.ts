/** What a model wrote in one action, split into thinking, text and tool calls. */
import type { ToolCall } from "./messages.ts";

export type { ToolCall } from "./messages.ts";

export interface Reply {
  /** What is addressed to others: the output without thinking and calls. */
  readonly text: string;
  readonly thinking?: string;
  readonly calls?: readonly ToolCall[];
  /** True if the output was cut off at the maximum number of tokens. */
  readonly truncated: boolean;
}
