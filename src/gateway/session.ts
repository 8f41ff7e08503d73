/**
 * A program's conversations with the roles of a team in one episode. Each call becomes a request to the engine; what was
 * asked and sampled is kept in order, exactly, until the session ends.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, randomBytes } from "node:crypto";
import type { SampledSequence, SampleRequest, SamplingOptions } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { keyAt, seedOf, type Key } from "../random.ts";
import type { History } from "../text/history.ts";
import type { Reply } from "../text/replies.ts";
import type { Message, Tool, Tokenizer } from "../text/tokenizer.ts";
import { Conversations, type BranchReason } from "./conversations.ts";

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

export interface SessionSetting {
  readonly roles: readonly SessionRole[];
  readonly sampling: Pick<SamplingOptions, "temperature" | "topK" | "topP">;
  readonly sample: (request: SampleRequest, signal: AbortSignal) => Promise<readonly SampledSequence[]>;
  /** Most calls of each role. */
  readonly turns: number;
  /** All sampling derives from it. */
  readonly key: Key;
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

/** How the program sent a request. */
export interface Sending {
  /** Of the whole request: a client that tries again sends the same. */
  readonly digest: string;
  /** The client says that it tries again. */
  readonly isRetry: boolean;
}

/** An answer on its way to the program. */
export interface Delivery {
  readonly answer: Promise<readonly RoleReply[]>;
  /** The whole answer was sent. */
  delivered(): void;
  /** The program did not take it, although it was sent. */
  lost(): void;
  /** The connection is closed, whether or not the answer was sent. */
  closed(): void;
}

/** A reply that is being written, to which its id is given at the end. */
interface Writing {
  /** Of what was asked. */
  readonly digest: string;
  readonly write: (
    key: Key,
    signal: AbortSignal,
  ) => Promise<readonly ((name: { id: string; digest: string }) => Omit<RoleReply, "id" | "role">)[]>;
}

interface Call {
  readonly answer: Promise<readonly RoleReply[]>;
  /** Of `answer`. Null: not yet. */
  replies: readonly RoleReply[] | null;
  /** Open connections that wait for it. */
  waiting: number;
  /** How often it arrived, as far as is known. */
  deliveries: number;
  /** The longest chain of calls that were each answered before the next came, up to this one. */
  readonly level: number;
}

export class Session {
  /** Its part of the addresses. */
  readonly id: string = randomBytes(12).toString("hex");
  readonly #setting: SessionSetting;
  readonly #conversations: Map<string, Conversations>;
  /** In the order in which they came. */
  readonly #calls: Call[] = [];
  readonly #byRequest = new Map<string, Call[]>();
  /** How often each role was asked, and how often for the same prompt. */
  readonly #counts = new Map<string, number>();
  /** By the ids of replies. */
  readonly #said = new Map<string, Said>();
  readonly #sampling = new AbortController();
  readonly #failing = new AbortController();
  /** Services count what they are asked for the work that opened the session, which a connection is no part of. */
  readonly #inItsWork = AsyncLocalStorage.snapshot();
  /** Of the next call. */
  #level = 0;
  #hasEnded = false;

  constructor(setting: SessionSetting) {
    this.#setting = setting;
    const conversations = setting.roles.flatMap((role) =>
      isHosted(role) ? [] : [[role.name, new Conversations(role.tokenizer)] as const],
    );
    this.#conversations = new Map(conversations);
  }

  get roles(): readonly SessionRole[] {
    return this.#setting.roles;
  }

  /** Aborted by the first failure of ours: nothing that the program does afterwards counts. */
  get failing(): AbortSignal {
    return this.#failing.signal;
  }

  /** Whether the program waits for an answer. */
  get isSampling(): boolean {
    return this.#calls.some(({ replies }) => replies === null);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Calls so far. */
  get calls(): number {
    return this.#calls.length;
  }

  /** What was asked and answered before. */
  said(id: string): Said | undefined {
    return this.#said.get(id);
  }

  /**
   * Answers a request; one that a client sends again, because its connection broke or it lost patience, with the answer
   * to the first.
   * @throws BadRequest
   */
  ask(role: SessionRole, request: RoleRequest, { digest, isRetry }: Sending): Delivery {
    if (this.#hasEnded) throw ended();
    const key = JSON.stringify([role.name, digest]);
    const alike = this.#byRequest.get(key) ?? [];
    const call = repeated(alike, isRetry) ?? this.#begin(role, request);
    if (!alike.includes(call)) this.#byRequest.set(key, [...alike, call]);
    call.waiting += 1;
    let [deliveries, waiting] = [0, 1];
    const delivered = (times: 0 | 1): void => {
      call.deliveries += times - deliveries;
      deliveries = times;
    };
    return {
      answer: call.answer,
      delivered: () => delivered(1),
      lost: () => delivered(0),
      closed: () => {
        call.waiting -= waiting;
        waiting = 0;
      },
    };
  }

  /**
   * Ends the session: later calls are rejected, and what is not answered yet never will be.
   * @returns every reply, the first time: the session forgets them, because the gateway knows it for long. They are in the
   * order of the calls, but calls that ran at the same time came in an order of chance, and are ordered by what they asked.
   */
  end(): readonly RoleReply[] {
    this.#hasEnded = true;
    this.#sampling.abort();
    for (const map of [this.#conversations, this.#said, this.#byRequest, this.#counts]) map.clear();
    const ordered = this.#calls
      .splice(0)
      .toSorted((one, other) => one.level - other.level || byName(one, other));
    return ordered.flatMap(({ replies, deliveries }) => {
      if (deliveries > 0) return replies ?? [];
      return (replies ?? []).map((reply) => ({ masked: "the program did not get the answer", ...reply }));
    });
  }

  #begin(role: SessionRole, request: RoleRequest): Call {
    const { turns } = this.#setting;
    const asked = this.#counts.get(role.name) ?? 0;
    if (asked + request.count > turns)
      throw new BadRequest(
        `The role ${role.name} may reply ${turns} times in an episode: set \`team.turns\` of the recipe higher.`,
        { code: "turn_limit" },
      );
    const reply = isHosted(role) ? this.#asking(role, request) : this.#sampled(role, request);
    this.#counts.set(role.name, asked + request.count);
    const answer = this.#answered(role, reply);
    const call: Call = { answer, replies: null, waiting: 0, deliveries: 0, level: this.#level };
    this.#calls.push(call);
    answer.then(
      (replies) => this.#answeredWith(call, replies),
      () => void (call.replies = []),
    );
    return call;
  }

  #answeredWith(call: Call, replies: readonly RoleReply[]): void {
    call.replies = replies;
    this.#level = Math.max(this.#level, call.level + 1);
  }

  async #answered({ name }: SessionRole, { digest, write }: Writing): Promise<readonly RoleReply[]> {
    // Of the role, too: which of two roles asks first is chance.
    const counted = `${name} ${digest}`;
    const times = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, times + 1);
    const digestAt = (index: number): string => digestOf(JSON.stringify([name, digest, times, index]));
    try {
      // Of what is asked, not of the moment: concurrent calls may come in any order.
      const key = keyAt(this.#setting.key, name, digest, times);
      const written = await this.#inItsWork(() => write(key, this.#sampling.signal));
      if (this.#hasEnded) throw ended();
      const answer = shortId(digestAt(0));
      return written.map((named, index) => {
        const id = written.length === 1 ? answer : `${answer}-${index}`;
        return { id, role: name, ...named({ id, digest: digestAt(index) }) };
      });
    } catch (error) {
      if (!(error instanceof BadRequest)) this.fail(error as Error);
      throw error;
    }
  }

  /** By the engine. @throws BadRequest if the prompt cannot be rendered, or is too long */
  #sampled(role: SampledRole, request: RoleRequest): Writing {
    const { sample, sampling } = this.#setting;
    const conversations = this.#conversations.get(role.name) as Conversations;
    const place = placed(() => conversations.place(messagesFor(role, request), request.tools));
    checkFits(role, place.history);
    const prompt = place.history.tokens;
    return {
      digest: digestOf(prompt),
      write: async (key, signal) => {
        const sequences = await sample(
          {
            ...sampling,
            policy: role.policy,
            prompt,
            count: request.count,
            maxTokens: Math.min(
              role.maxTokens,
              request.maxTokens ?? Infinity,
              role.maxLength - prompt.length,
            ),
            stopTokens: role.tokenizer.endTokens,
            stopStrings: [...new Set([...role.stop, ...request.stop])],
            seed: seedOf(key),
          },
          signal,
        );
        return sequences.map((sequence) => ({ id, digest }) => {
          const reply = replyIn(role.tokenizer, sequence, request.stop, digest);
          conversations.add(place, sequence.tokens, this.#say(id, request, reply));
          return {
            ...sequence,
            added: place.added,
            prompt,
            reply,
            usage: usageOf(role.tokenizer, sequence.tokens, reply, {
              prompt: prompt.length,
              cached: place.known,
            }),
            ...(place.branch === undefined ? {} : { branch: place.branch }),
            ...(place.isAmbiguous ? { masked: "it continues one of several replies that read alike" } : {}),
          };
        });
      },
    };
  }

  /** By a service. */
  #asking(role: HostedRole, request: RoleRequest): Writing {
    const { tools, toolChoice, schema, stop } = request;
    // The service is sent the schema itself.
    const messages = messagesFor(role, { messages: request.messages });
    const maxTokens = Math.min(role.maxTokens, request.maxTokens ?? Infinity);
    const asked = JSON.stringify([messages, tools, toolChoice, schema, stop, maxTokens]);
    return {
      digest: digestOf(asked),
      write: async (key, signal) => {
        const writing = Array.from({ length: request.count }, (_, index) =>
          role.write({ ...request, messages, maxTokens }, keyAt(key, index), signal),
        );
        return (await Promise.all(writing)).map(({ reply: written, usage }) => ({ id, digest }) => {
          const reply = withCallIds(written, digest);
          this.#say(id, request, reply);
          return {
            ...untold,
            stopReason: reply.truncated ? "length" : "stop",
            added: messages,
            reply,
            usage,
          };
        });
      },
    };
  }

  /** What is known of it from here on. */
  #say(id: string, { messages }: RoleRequest, { text, calls }: Reply): Message {
    const reply: Message = { role: "assistant", content: text, ...(calls === undefined ? {} : { calls }) };
    this.#said.set(id, { messages, reply });
    return reply;
  }

  /** What the program is to blame for is no failure, nor is what happens after the end. */
  fail(error: Error): void {
    if (this.#hasEnded) return;
    this.#failing.abort(error);
    this.#sampling.abort(error);
  }
}

function byName({ replies: one }: Call, { replies: other }: Call): number {
  const [left = "", right = ""] = [one?.[0]?.id, other?.[0]?.id];
  return left < right ? -1 : Number(left > right);
}

function ended(): BadRequest {
  return new BadRequest("The episode has ended.", { status: 409, code: "episode_ended" });
}

/**
 * The call that a request repeats. It is one whose answer did not arrive; an equal request after an answer that did
 * arrive asks for another sample, unless the client says that it tries again.
 */
function repeated(alike: readonly Call[], isRetry: boolean): Call | undefined {
  const lost = alike.filter(({ deliveries }) => deliveries === 0);
  const abandoned = lost.find(({ waiting }) => waiting === 0);
  if (abandoned !== undefined || !isRetry) return abandoned;
  return lost.toSorted((one, other) => one.waiting - other.waiting)[0] ?? alike.at(-1);
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

function withCallIds({ calls, ...rest }: Reply, digest: string): Reply {
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

const isHosted = (role: SessionRole): role is HostedRole => "write" in role;

/** Nobody knows the tokens of a service's reply, and none are invented. */
const untold = {
  policyVersion: null,
  prompt: new Int32Array(),
  tokens: new Int32Array(),
  logprobs: new Float32Array(),
};

const shortId = (digest: string): string => digest.slice(0, 24);

/** The id of the answer that a reply is in. */
export const answerOf = (id: string): string => id.replace(/-\d+$/, "");

/** Nine letters and digits, as some templates require. */
function toolCallId(reply: string, index: number): string {
  return digestOf(`${reply} ${index}`).slice(0, 9);
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

const digestOf = (data: string | Int32Array): string => createHash("sha256").update(data).digest("hex");
