/**
 * A program's conversations with the roles of a team in one episode. Each call becomes a request to the engine; what was
 * asked and sampled is kept in order, exactly, until the session ends.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash, randomBytes } from "node:crypto";
import type { SampledSequence, SampleRequest, SamplingOptions } from "../engines/engine.ts";
import { keyAt, seedOf, type Key } from "../random.ts";
import type { Reply } from "../text/replies.ts";
import type { Message } from "../text/tokenizer.ts";
import { Conversations } from "./conversations.ts";
import {
  BadRequest,
  checkFits,
  messagesFor,
  placed,
  replyIn,
  usageOf,
  withCallIds,
  type HostedRole,
  type RoleReply,
  type RoleRequest,
  type Said,
  type SampledRole,
  type SessionRole,
} from "./roles.ts";

export interface SessionSetting {
  readonly roles: readonly SessionRole[];
  readonly sampling: Pick<SamplingOptions, "temperature" | "topK" | "topP">;
  readonly sample: (request: SampleRequest, signal: AbortSignal) => Promise<readonly SampledSequence[]>;
  /** Most calls of each role. */
  readonly turns: number;
  /** All sampling derives from it. */
  readonly key: Key;
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
            continued: true,
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
export const answerIdOf = (id: string): string => id.replace(/-\d+$/, "");

const digestOf = (data: string | Int32Array): string => createHash("sha256").update(data).digest("hex");
