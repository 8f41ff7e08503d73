/**
 * A program's conversations with the roles of a team in one episode. Each call becomes a request to the engine; what was
 * asked and sampled is kept in order, exactly, until the session ends.
 */
import { createHash, randomBytes } from "node:crypto";
import type { SampledSequence, SampleRequest, SamplingOptions } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { keyAt, seedOf, type Key } from "../random.ts";
import type { History } from "../text/history.ts";
import type { Reply } from "../text/replies.ts";
import type { Message, Tool, Tokenizer } from "../text/tokenizer.ts";
import { Conversations, type BranchReason, type Place } from "./conversations.ts";

/** A role that programs may call. */
export interface SessionRole {
  readonly name: string;
  /** Absent: its name. */
  readonly seat?: string;
  readonly policy: string;
  readonly tokenizer: Tokenizer;
  /** Longest sequence in tokens, prompt included. */
  readonly maxLength: number;
  /** Most tokens of a reply, whatever the program asks for. */
  readonly maxTokens: number;
  readonly stop: readonly string[];
  /** The system message of requests without one. Absent: none. */
  readonly system?: string | undefined;
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
  readonly instruction?: string;
  readonly tools: readonly Tool[];
  /** Absent: as many tokens as the role may write. */
  readonly maxTokens?: number | undefined;
  readonly stop: readonly string[];
  /** Replies. */
  readonly count: number;
}

/** A reply of a role, as it was sampled and as the program was shown it. */
export interface RoleReply extends SampledSequence {
  /**
   * What the program may name it by. It does not depend on the order of concurrent calls. One of several in an answer has
   * its number behind the answer's: `ID-1`.
   */
  readonly id: string;
  readonly role: string;
  /** The messages after those that the role had been shown. */
  readonly added: readonly Message[];
  readonly prompt: Int32Array;
  readonly reply: Reply;
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
  /** The connection is closed, whether or not the answer was sent. */
  closed(): void;
}

interface Call {
  readonly answer: Promise<readonly RoleReply[]>;
  /** Of `answer`. Null: not yet. */
  replies: readonly RoleReply[] | null;
  /** Open connections that wait for it. */
  waiting: number;
  isDelivered: boolean;
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
  #hasEnded = false;

  constructor(setting: SessionSetting) {
    this.#setting = setting;
    const conversations = setting.roles.map(
      ({ name, tokenizer }) => [name, new Conversations(tokenizer)] as const,
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
    return {
      answer: call.answer,
      delivered: () => void (call.isDelivered = true),
      closed: () => void (call.waiting -= 1),
    };
  }

  /**
   * Ends the session: later calls are rejected, and what is not answered yet never will be.
   * @returns every reply, in the order of the calls, the first time: the session forgets them, because the gateway knows
   * it for long
   */
  end(): readonly RoleReply[] {
    this.#hasEnded = true;
    this.#sampling.abort();
    for (const map of [this.#conversations, this.#said, this.#byRequest, this.#counts]) map.clear();
    return this.#calls.splice(0).flatMap(({ replies, isDelivered }) => {
      if (isDelivered) return replies ?? [];
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
    const place = this.#place(role, request);
    this.#counts.set(role.name, asked + request.count);
    const answer = this.#sample(role, request, place);
    const call: Call = { answer, replies: null, waiting: 0, isDelivered: false };
    this.#calls.push(call);
    answer.then(
      (replies) => void (call.replies = replies),
      () => void (call.replies = []),
    );
    return call;
  }

  #place(role: SessionRole, request: RoleRequest): Place {
    const conversations = this.#conversations.get(role.name) as Conversations;
    const place = placed(() => conversations.place(messagesFor(role, request), request.tools));
    checkFits(role, place.history);
    return place;
  }

  async #sample(role: SessionRole, request: RoleRequest, place: Place): Promise<readonly RoleReply[]> {
    const { sample, sampling, key } = this.#setting;
    const prompt = place.history.tokens;
    const stopStrings = [...new Set([...role.stop, ...request.stop])];
    const digest = createHash("sha256").update(prompt).digest("hex");
    // Of the role, too: which of two roles asks first is chance.
    const counted = `${role.name} ${digest}`;
    const times = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, times + 1);
    try {
      const sequences = await sample(
        {
          ...sampling,
          policy: role.policy,
          prompt,
          count: request.count,
          maxTokens: Math.min(role.maxTokens, request.maxTokens ?? Infinity, role.maxLength - prompt.length),
          stopTokens: role.tokenizer.endTokens,
          stopStrings,
          // Of the prompt, not of the moment: concurrent calls may come in any order.
          seed: seedOf(keyAt(key, role.name, digest, times)),
        },
        this.#sampling.signal,
      );
      if (this.#hasEnded) throw ended();
      const digests = sequences.map((_, index) =>
        createHash("sha256")
          .update(JSON.stringify([role.name, digest, times, index]))
          .digest("hex"),
      );
      const answer = shortId(digests[0] ?? "");
      return sequences.map((sequence, index) => {
        const id = sequences.length === 1 ? answer : `${answer}-${index}`;
        return this.#reply(role, request, place, sequence, { id, digest: digests[index] ?? "" });
      });
    } catch (error) {
      this.fail(error as Error);
      throw error;
    }
  }

  /** What the program is to blame for is no failure, nor is what happens after the end. */
  fail(error: Error): void {
    if (this.#hasEnded) return;
    this.#failing.abort(error);
    this.#sampling.abort(error);
  }

  #reply(
    role: SessionRole,
    { stop, messages }: RoleRequest,
    place: Place,
    sequence: SampledSequence,
    { id, digest }: { readonly id: string; readonly digest: string },
  ): RoleReply {
    const parsed = role.tokenizer.parseReply(sequence.tokens, sequence.stopReason === "length");
    const reply = shown(parsed, stop, role.tokenizer.decode(sequence.tokens), digest);
    const { text, calls } = reply;
    const message: Message = { role: "assistant", content: text, ...(calls === undefined ? {} : { calls }) };
    this.#said.set(id, { messages, reply: message });
    (this.#conversations.get(role.name) as Conversations).add(place, sequence.tokens, message);
    return {
      ...sequence,
      id,
      role: role.name,
      added: place.added,
      prompt: place.history.tokens,
      reply,
      ...(place.branch === undefined ? {} : { branch: place.branch }),
      ...(place.isAmbiguous ? { masked: "it continues one of several replies that read alike" } : {}),
    };
  }
}

function ended(): BadRequest {
  return new BadRequest("The episode has ended.", { status: 409, code: "episode_ended" });
}

/**
 * The call that a request repeats. It is one whose answer did not arrive; an equal request after an answer that did
 * arrive asks for another sample, unless the client says that it tries again.
 */
function repeated(alike: readonly Call[], isRetry: boolean): Call | undefined {
  const lost = alike.filter(({ isDelivered }) => !isDelivered);
  const abandoned = lost.find(({ waiting }) => waiting === 0);
  if (abandoned !== undefined || !isRetry) return abandoned;
  return lost.toSorted((one, other) => one.waiting - other.waiting)[0] ?? alike.at(-1);
}

/** With the role's system message, unless the request has one. */
export function messagesFor(
  { system }: SessionRole,
  { messages, instruction }: RoleRequest,
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
export function checkFits({ name, maxLength }: SessionRole, { tokens: { length } }: History): void {
  if (length < maxLength) return;
  throw new BadRequest(
    `The prompt has ${length} tokens, but the model of ${name} reads at most ${maxLength}, its reply included.`,
    { code: "context_length_exceeded" },
  );
}

/** Text ends before what stopped it; a call has an id; a malformed call is text. */
export function shown(parsed: Reply, stop: readonly string[], written: string, id: string): Reply {
  const { calls, ...rest } = parsed;
  const isMalformed = calls?.some(({ error }) => error !== undefined) === true;
  const text = beforeAny(isMalformed ? written : parsed.text, stop);
  if (calls === undefined || isMalformed) return { ...rest, text };
  return { ...rest, text, calls: calls.map((call, index) => ({ id: toolCallId(id, index), ...call })) };
}

const shortId = (digest: string): string => digest.slice(0, 24);

/** The id of the answer that a reply is in. */
export const answerOf = (id: string): string => id.replace(/-\d+$/, "");

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
