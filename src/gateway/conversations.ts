/**
 * The conversations of one role in an episode, as a graph of messages with exact tokens. Each turn stores what its
 * messages added to the turn before it: the tokens of the new messages, and those that the model sampled. A request is
 * matched to the longest known beginning; only the messages after it are encoded, and what the model wrote is never
 * tokenised again, even if a client leaves out its thinking, trims it or writes its calls in another way.
 *
 * A request that changes what was said begins a branch, which is encoded from its first message and says why. Replies
 * in it that nobody sampled here are text like any other.
 */
import { createHash } from "node:crypto";
import { TroupeError } from "../errors.ts";
import { beginHistory, withAction, withMessages, type History } from "../text/history.ts";
import type { Message, Tool, Tokenizer } from "../text/tokenizer.ts";

/** Why the prompt does not continue what the role was shown and sampled before. */
export type BranchReason =
  | "the system message changed"
  | "the tools changed"
  | "earlier messages changed"
  | "a reply was not sampled here"
  | "the chat template rewrites earlier messages";

/** Where a request stands in the graph. */
export interface Place {
  /** Its tokens are the prompt. */
  readonly history: History;
  /** How many of them were known before. */
  readonly known: number;
  /** The messages after the known beginning. */
  readonly added: readonly Message[];
  /** Absent: it continues a conversation, or begins one. */
  readonly branch?: BranchReason;
  /** It continues one of several replies that read alike but have other tokens: which, nobody can tell. */
  readonly isAmbiguous: boolean;
  readonly asked: Asked;
}

interface Asked {
  readonly messages: readonly Message[];
  readonly tools: readonly Tool[];
}

/** A request that was answered. */
interface Turn {
  /** What the client is expected to send back, message by message, with the reply. */
  readonly said: readonly string[];
  readonly tools: string;
  /** With the reply's tokens. */
  readonly history: History;
  readonly isAmbiguous: boolean;
}

export class Conversations {
  readonly #tokenizer: Tokenizer;
  /** By a digest of everything said up to their reply: several if they read alike. */
  readonly #turns = new Map<string, Turn[]>();

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /** @throws TroupeError `bad_model` if the chat template rejects the messages */
  place(messages: readonly Message[], tools: readonly Tool[]): Place {
    const asked = { messages, tools };
    const known = this.#longestKnown(asked);
    const added = messages.slice(known?.length ?? 0);
    if (added.some(({ role }) => role === "assistant")) return this.#branch(asked, this.#reasonFor(asked));
    if (known === undefined) return this.#begin(asked);
    const { turns, length } = known;
    const [turn] = turns;
    const isAmbiguous = turn.isAmbiguous || turns.some(({ history }) => !areEqual(history, turn.history));
    try {
      const history = withMessages(this.#tokenizer, turn.history, messages.slice(length));
      return { history, known: turn.history.tokens.length, added, isAmbiguous, asked };
    } catch (error) {
      if (!(error instanceof TroupeError) || error.code !== "unsupported") throw error;
      return this.#branch(asked, "the chat template rewrites earlier messages");
    }
  }

  /** Adds what was sampled in the place, as the client was shown it. */
  add({ history, asked: { messages, tools }, isAmbiguous }: Place, tokens: Int32Array, shown: Message): void {
    const said = [...messages, shown].map(written);
    const turn: Turn = { said, tools: toolsKey(tools), history: withAction(history, tokens), isAmbiguous };
    const key = beginnings(turn.tools, said).at(-1) ?? "";
    this.#turns.set(key, [...(this.#turns.get(key) ?? []), turn]);
  }

  #begin(asked: Asked): Place {
    const history = beginHistory(this.#tokenizer, asked.messages, asked.tools);
    return { history, known: 0, added: asked.messages, isAmbiguous: false, asked };
  }

  #branch(asked: Asked, branch: BranchReason): Place {
    return { ...this.#begin(asked), branch };
  }

  /** The turns with the longest beginning of the request. */
  #longestKnown({ messages, tools }: Asked): { turns: [Turn, ...Turn[]]; length: number } | undefined {
    const keys = beginnings(toolsKey(tools), messages.map(written));
    const longest = keys.findLastIndex((key) => this.#turns.has(key));
    const [first, ...others] = this.#turns.get(keys[longest] ?? "") ?? [];
    return first === undefined ? undefined : { turns: [first, ...others], length: longest + 1 };
  }

  /** Of a request with a reply that follows nothing known: told by the turns that share most with it, system messages aside. */
  #reasonFor({ messages, tools }: Asked): BranchReason {
    const turns = [...this.#turns.values()].flat();
    const said = messages.map(written);
    const bare = said.filter((one) => !isSystem(one));
    const shared = (turn: Turn): number => {
      const own = turn.said.filter((one) => !isSystem(one));
      return own.every((one, index) => one === bare[index]) ? own.length : 0;
    };
    const most = Math.max(0, ...turns.map(shared));
    const closest = most === 0 ? [] : turns.filter((turn) => shared(turn) === most);
    const systems = systemsIn(said, most);
    const alike = closest.filter((turn) => systemsIn(turn.said, most) === systems);
    if (closest.length > 0 && alike.length === 0) return "the system message changed";
    if (alike.length > 0 && alike.every((turn) => turn.tools !== toolsKey(tools))) return "the tools changed";
    const sampled = new Set(turns.map((turn) => turn.said.at(-1)));
    const isInvented = said.some((one, index) => messages[index]?.role === "assistant" && !sampled.has(one));
    return isInvented ? "a reply was not sampled here" : "earlier messages changed";
  }
}

/** The system messages before so many others have been said. */
function systemsIn(said: readonly string[], others: number): string {
  const last = said.flatMap((one, index) => (isSystem(one) ? [] : [index]))[others - 1] ?? said.length;
  return said.slice(0, last).filter(isSystem).join();
}

/** Whether the tokens before the next message are the same. */
function areEqual({ tokens: one }: History, { tokens: other }: History): boolean {
  return one.length === other.length && one.every((token, index) => token === other[index]);
}

/**
 * A message as it is compared: of a reply without thinking, which many clients drop, and without the white space around
 * it; of its calls what they mean. Tokens are those of the reply that was sampled.
 */
function written({ role, content, calls = [], callId }: Message): string {
  const called = calls.map((call) => [call.name, sorted(call.arguments), call.id]);
  return JSON.stringify([role, role === "assistant" ? content.trim() : content, called, callId]);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, sorted(one)] as const);
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

const toolsKey = (tools: readonly Tool[]): string => JSON.stringify(sorted(tools));

/** A digest of each beginning: of the first message, of the first two, … */
function beginnings(tools: string, said: readonly string[]): readonly string[] {
  let before = tools;
  return said.map(
    (one) =>
      (before = createHash("sha256")
        .update(JSON.stringify([before, one]))
        .digest("hex")),
  );
}

const isSystem = (said: string): boolean => said.startsWith('["system"');
