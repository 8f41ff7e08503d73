/**
 * A conversation kept as exact token ids. What a model wrote stays the ids that were sampled: it never goes through the
 * template or the tokenizer again, so the next prompt always begins with the previous prompt and the action, id for id
 * (the exact-prefix invariant of verifiers and prime-rl). Only new text is tokenised: the end of the model's turn where
 * it did not write one, the next message, and the generation prompt.
 *
 * A template that would drop something from a model's earlier turns (Qwen3 drops the thinking) does not: the history is
 * what was really sampled. A template that moves or rewrites earlier *messages* (some Mistral templates put the system
 * message into the last user message) cannot be continued and is rejected: use `memory: turn` there.
 */
import { TroupeError } from "../errors.ts";
import type { Message, Tool, Tokenizer } from "./tokenizer.ts";

/** A value: nothing here changes it. */
export interface History {
  /** The messages put to the model; null stands for what the model wrote. */
  readonly messages: readonly (Message | null)[];
  /** The tools it was told of. */
  readonly tools: readonly Tool[];
  /** Everything the model has seen and written so far. */
  readonly tokens: Int32Array;
}

/** The history before a model's first action: its tokens are the whole prompt, ending where the model begins. */
export function beginHistory(
  tokenizer: Tokenizer,
  messages: readonly Message[],
  tools: readonly Tool[] = [],
): History {
  return { messages, tools, tokens: tokenizer.renderPrompt(messages, true, tools) };
}

/** The history with the sampled tokens at its end, as they are. */
export function withAction(history: History, action: Int32Array): History {
  return {
    ...history,
    messages: [...history.messages, null],
    tokens: concatenate(history.tokens, action),
  };
}

/**
 * The history with new messages, ready for the next action. `unsupported` if the template changes what came before.
 * An action that was cut off (length, or a stop string) is closed with the template's own end of turn. Messages of tools
 * make the action one of calls, as many as there are answers: that is how templates that count them are satisfied.
 */
export function withMessages(tokenizer: Tokenizer, history: History, added: readonly Message[]): History {
  const messages = [...history.messages, ...added];
  const { text, closing } = newText(tokenizer, history, messages);
  const ids = tokenizer.encodeMarked(text);
  const isClosed = closing !== undefined && ids[0] === closing && history.tokens.at(-1) === closing;
  return { ...history, messages, tokens: concatenate(history.tokens, isClosed ? ids.subarray(1) : ids) };
}

export function withMessage(tokenizer: Tokenizer, history: History, message: Message): History {
  return withMessages(tokenizer, history, [message]);
}

interface NewText {
  /** Marked. */
  readonly text: string;
  /** The end token that the text begins with. */
  readonly closing: number | undefined;
}

/** What the template writes after the model's last turn, once the new messages are there. */
function newText(tokenizer: Tokenizer, { messages, tools }: History, after: History["messages"]): NewText {
  const turn = messages.length - 1;
  const placeholder = placeholders(after);
  const render = (shown: History["messages"], generate: boolean): string =>
    tokenizer.renderMarked(filled(shown, placeholder), generate, tools);
  const rendered = render(after, true);
  const [first, last] = [rendered.indexOf(placeholder(turn)), rendered.lastIndexOf(placeholder(turn))];
  const past = rendered.slice(0, Math.max(0, first)).trimEnd();
  const [asked, prompt] = [false, true].map((generate) => render(messages.slice(0, turn), generate));
  // The generation prompt may hold more than the start of an old turn does (an empty block of thinking), or less white
  // space (Llama 2 writes a space before an answer, and its tokenizer makes one). A turn of calls begins in its own way.
  const isCalling = after[turn + 1]?.role === "tool";
  const isSame = past.startsWith(asked?.trimEnd() ?? "") && (isCalling || prompt?.startsWith(past) === true);
  const rest = rendered.slice(last + placeholder(turn).length);
  const closing = firstEndToken(tokenizer, rest, isCalling);
  if (first < 0 || !isSame || (isCalling && closing === undefined)) throw rewritten();
  return { text: closing === undefined ? rest : rest.slice(closing.index), closing: closing?.id };
}

function rewritten(): TroupeError {
  return new TroupeError(
    "unsupported",
    "the model's chat template rewrites earlier messages when a new one is added, so a conversation cannot be kept " +
      "token by token; set `memory: turn` for the role, or use a template that only appends",
  );
}

/** What stands where the model's words are while the template is rendered: no message holds it, and trimming leaves it. */
function placeholders(messages: History["messages"]): (turn: number) => string {
  const said = JSON.stringify(messages);
  let around = "@@";
  while (said.includes(`${around}model-turn-`)) around = `@${around}`;
  return (turn) => `${around}model-turn-${turn}${around}`;
}

/** Where tools answer, the turn called them: a template shows the content, the calls, or both. */
function filled(messages: History["messages"], placeholder: (turn: number) => string): Message[] {
  return messages.map((message, turn) => {
    if (message !== null) return message;
    const end = messages.findIndex((later, index) => index > turn && later?.role !== "tool");
    const answers = messages.slice(turn + 1, end < 0 ? undefined : end);
    const calls = answers.map((answer) => ({
      name: placeholder(turn),
      arguments: {},
      ...(answer?.callId === undefined ? {} : { id: answer.callId }),
    }));
    return { role: "assistant", content: placeholder(turn), ...(calls.length > 0 ? { calls } : {}) };
  });
}

/**
 * Where in the template's text the model's turn is closed. White space before it was not written by the model, nor was
 * what is left of a call. Text of messages is marked, so what reads like an end token in it is not found.
 */
function firstEndToken(
  tokenizer: Tokenizer,
  text: string,
  isCalling: boolean,
): { id: number; index: number } | undefined {
  const decoder = new TextDecoder();
  const found = tokenizer.endTokens
    .filter((id) => tokenizer.tokenBytes(id).length > 0)
    .map((id) => ({ id, index: text.indexOf(decoder.decode(tokenizer.tokenBytes(id))) }))
    .filter(({ index }) => index >= 0 && (isCalling || text.slice(0, index).trim() === ""));
  return found.toSorted((a, b) => a.index - b.index)[0];
}

function concatenate(first: Int32Array, second: Int32Array): Int32Array {
  const joined = new Int32Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
