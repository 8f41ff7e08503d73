/**
 * What a role may call. A model's mistakes, and whatever a program or a server says, are data: text for the model. A
 * service that fails throws a `ServiceError`: the call is retried, then the episode is dropped.
 */
import type { JsonObject } from "../text/files.ts";
import type { Tool, ToolCall } from "../text/messages.ts";
import type { ToolSettings } from "./settings.ts";

export type { ToolSettings } from "./settings.ts";

/** A tool ready to be called. */
export interface OpenTool {
  /** For the model's prompt. */
  readonly definition: Tool;
  /**
   * @param given valid for the definition's parameters
   * @returns the answer for the model, already capped
   * @throws ServiceError; TroupeError `cancelled`
   */
  call(given: JsonObject, signal: AbortSignal): Promise<string>;
}

export interface ToolAnswer {
  /** For the model. */
  readonly text: string;
  /** What the model did wrong: a malformed call, an unknown tool, invalid arguments. Absent: nothing. */
  readonly fault?: string;
}

/** The tools of a role. */
export interface Toolset {
  readonly definitions: readonly Tool[];
  /** Any call that a model wrote, malformed ones included. @throws ServiceError; TroupeError `cancelled` */
  answer(call: ToolCall, signal: AbortSignal): Promise<ToolAnswer>;
}

/** Opens tools when they are first needed, each once. */
export interface ToolService {
  /** @throws TroupeError `bad_recipe` if tools cannot be opened together, `bad_data`; ServiceError */
  open(settings: readonly ToolSettings[]): Promise<Toolset>;
  /** Ends all servers. */
  close(): Promise<void>;
}
