/**
 * What programs ask roles for and what they get: roles, requests and replies, of the episodes of a training (session.ts) and
 * of trained roles that are served (server.ts).
 */
import { createHash } from "node:crypto";
import type { SampledSequence } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import type { Key } from "../random.ts";
import type { History } from "../text/history.ts";
import type { Reply } from "../text/replies.ts";
import type { Message, Tool, Tokenizer } from "../text/tokenizer.ts";
import type { BranchReason } from "./conversations.ts";

/** A role that programs may call. */
export type SessionRole = SampledRole | HostedRole;

interface AnyRole {
  readonly name: string;
  /** Absent: its name. */
  readonly seat?: string;
  /** Most tokens of a reply, whatever the program asks for. */
  readonly maxTokens: number;
  /** The system message of requests without one. Absent: none. */
  readonly system?: string | undefined;
}

/** The engine writes its replies. */
export interface SampledRole extends AnyRole {
  readonly policy: string;
  readonly tokenizer: Tokenizer;
  /** Longest sequence in tokens, prompt included. */
  readonly maxLength: number;
  readonly stop: readonly string[];
}

/** A model of a service writes its replies. */
export interface HostedRole extends AnyRole {
  /** @param key the same if the program asks for the same again @throws BadRequest if the service rejects the request */
  readonly write: (request: RoleRequest, key: Key, signal: AbortSignal) => Promise<HostedReply>;
}

/** What a service's model wrote: nobody knows its tokens. */
export interface HostedReply {
  readonly reply: Reply;
  readonly usage: Usage;
}

/** In tokens. */
export interface Usage {
  readonly prompt: number;
  /** Those of the prompt that were known before. */
  readonly cached: number;
  readonly written: number;
  /** Those of the reply that are thinking. */
  readonly thinking: number;
}

/** What a program asks a role for, in any protocol. */
export interface RoleRequest {
  readonly messages: readonly Message[];
  /** Belongs at the end of the system message, whoever gave it. */
  readonly instruction?: string | undefined;
  readonly tools: readonly Tool[];
  /** Absent: as many tokens as the role may write. */
  readonly maxTokens?: number | undefined;
  /** Whether and which tool must be called. Absent: the role decides. */
  readonly toolChoice?: "required" | { readonly name: string } | undefined;
  /** The JSON schema of the reply, which `instruction` asks for in words. Absent: it may be any text. */
  readonly schema?: object | undefined;
  readonly stop: readonly string[];
  /** Replies. */
  readonly count: number;
}

/** A reply of a role, as it was sampled and as the program was shown it. A service's has neither prompt nor tokens. */
export interface RoleReply extends Omit<SampledSequence, "policyVersion"> {
  /**
   * What the program may name it by. It does not depend on the order of concurrent calls. One of several in an answer has
   * its number behind the answer's: `ID-1`.
   */
  readonly id: string;
  readonly role: string;
  /** Null: a service wrote it. */
  readonly policyVersion: number | null;
  /** The messages after those that the role had been shown; all of them to a service. */
  readonly added: readonly Message[];
  readonly prompt: Int32Array;
  readonly reply: Reply;
  readonly usage: Usage;
  /** Why its prompt does not continue what the role was shown and sampled before. Absent: it does. */
  readonly branch?: BranchReason;
  /** Why it must not be trained on. Absent: it may be. */
  readonly masked?: string;
  /** Its tokens, but for the last that ends the turn, with their log-probabilities. Absent: the program has no use for them. */
  readonly pieces?: readonly { readonly bytes: Uint8Array; readonly logprob: number }[];
}

/** A reply that the program may name instead of repeating it. */
export interface Said {
  /** What it was asked with. */
  readonly messages: readonly Message[];
  readonly reply: Message;
}

/** A request that the program is to blame for. */
export class BadRequest extends Error {
  readonly status: number;
  readonly code: string;

  constructor(message: string, { status = 400, code = "invalid_request" } = {}) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** With the role's system message, unless the request has one. */
export function messagesFor(
  { system }: SessionRole,
  { messages, instruction }: Pick<RoleRequest, "messages" | "instruction">,
): readonly Message[] {
  const hasSystem = system === undefined || messages.some((message) => message.role === "system");
  const all: readonly Message[] = hasSystem ? messages : [{ role: "system", content: system }, ...messages];
  return instruction === undefined ? all : withInstruction(all, instruction);
}

/** At the end of the system message, which may have to be made. */
function withInstruction([first, ...rest]: readonly Message[], instruction: string): readonly Message[] {
  if (first?.role === "system") return [{ ...first, content: `${first.content}\n\n${instruction}` }, ...rest];
  return [{ role: "system", content: instruction }, ...(first === undefined ? [] : [first]), ...rest];
}

/** @throws BadRequest if the prompt leaves no room for a reply */
export function checkFits({ name, maxLength }: SampledRole, { tokens: { length } }: History): void {
  if (length < maxLength) return;
  throw new BadRequest(
    `The prompt has ${length} tokens, but the model of ${name} reads at most ${maxLength}, its reply included.`,
    { code: "context_length_exceeded" },
  );
}

/** Text ends before what stopped it; a call has an id; a malformed call is text. */
export function replyIn(
  tokenizer: Tokenizer,
  { tokens, stopReason }: SampledSequence,
  stop: readonly string[],
  digest: string,
): Reply {
  const { calls, ...rest } = tokenizer.parseReply(tokens, stopReason === "length");
  const isMalformed = calls?.some(({ error }) => error !== undefined) === true;
  const text = beforeAny(isMalformed ? tokenizer.decode(tokens) : rest.text, stop);
  return withCallIds({ ...rest, text, ...(calls === undefined || isMalformed ? {} : { calls }) }, digest);
}

export function withCallIds({ calls, ...rest }: Reply, digest: string): Reply {
  if (calls === undefined) return rest;
  return { ...rest, calls: calls.map((call, index) => ({ id: toolCallId(digest, index), ...call })) };
}

/** @param prompt its tokens, and those of them that were known before */
export function usageOf(
  tokenizer: Tokenizer,
  tokens: Int32Array,
  { thinking = "" }: Reply,
  prompt: Pick<Usage, "prompt" | "cached">,
): Usage {
  return { ...prompt, written: tokens.length, thinking: thinkingTokens(tokenizer, tokens, thinking) };
}

/** Nine letters and digits, as some templates require. */
function toolCallId(reply: string, index: number): string {
  return createHash("sha256").update(`${reply} ${index}`).digest("hex").slice(0, 9);
}

function beforeAny(text: string, stop: readonly string[]): string {
  const ends = stop.map((one) => text.indexOf(one)).filter((index) => index >= 0);
  return text.slice(0, Math.min(text.length, ...ends));
}

/** What a chat template rejects is the program's to correct. */
export function placed<Value>(place: () => Value): Value {
  try {
    return place();
  } catch (error) {
    if (error instanceof TroupeError && error.code === "bad_model") throw new BadRequest(error.message);
    throw error;
  }
}

/** The fewest tokens after which no more is thought. */
function thinkingTokens(tokenizer: Tokenizer, tokens: Int32Array, thinking: string): number {
  let [least, most] = thinking === "" ? [0, 0] : [1, tokens.length];
  while (least < most) {
    const half = Math.floor((least + most) / 2);
    const { thinking: before = "" } = tokenizer.parseReply(tokens.subarray(0, half), true);
    if (before.length < thinking.length) least = half + 1;
    else most = half;
  }
  return most;
}
