/** What a model wrote in one action, split into thinking, text and tool calls. */
import type { JsonObject } from "./files.ts";

export interface ToolCall {
  readonly name: string;
  readonly arguments: JsonObject;
  /** Given by some formats (Mistral), so that the tool's answer can name the call. */
  readonly id?: string;
}

export interface Reply {
  /** What is addressed to others: the output without thinking and calls. */
  readonly text: string;
  readonly thinking?: string;
  readonly calls?: readonly ToolCall[];
  /** True if the output was cut off at the maximum number of tokens. */
  readonly truncated: boolean;
}
