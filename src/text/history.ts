/**
 * A conversation kept as exact token ids. What a model wrote stays the ids that were sampled: it never goes through the
 * template or the tokenizer again, so the next prompt always begins with the previous prompt and the action, id for id
 * (the exact-prefix invariant of verifiers and prime-rl). Only new text is tokenised: the end of the model's turn where
 * it did not write one, the next message, and the generation prompt.
 *
 * A template that would drop something from a model's earlier turns (Qwen3 drops the thinking) does not: the history is
 * what was really sampled. A template that moves or rewrites earlier *messages* (some Mistral templates put the system
 * message into the last user message) cannot be continued and is refused: use `memory: turn` there.
 */
import { TroupeError } from "../errors.ts";
import type { Message, Tokenizer } from "./tokenizer.ts";

/** A value: nothing here changes it. */
export interface History {
  /** The messages put to the model; what the model wrote is not among them, only its place is. */
  readonly messages: readonly Message[];
  /** Everything the model has seen and written so far. */
  readonly tokens: Int32Array;
}

/** The history before a model's first action: its tokens are the whole prompt, ending where the model begins. */
export function beginHistory(tokenizer: Tokenizer, messages: readonly Message[]): History {
  return { messages, tokens: tokenizer.renderPrompt(messages, true) };
}

/** The history with the sampled tokens at its end, as they are. */
export function withAction(history: History, action: Int32Array): History {
  const messages = [...history.messages, { role: "assistant", content: "" } as const];
  return { messages, tokens: concatenate(history.tokens, action) };
}

/**
 * The history with one more message, ready for the next action. `unsupported` if the template changes what came before.
 * An action that was cut off (length, or a stop string) is closed with the template's own end of turn.
 */
export function withMessage(tokenizer: Tokenizer, history: History, message: Message): History {
  const messages = [...history.messages, message];
  const text = newText(tokenizer, history.messages, messages);
  const closing = firstEndToken(tokenizer, text);
  const ids = tokenizer.encode(closing === undefined ? text : text.slice(closing.index));
  const isClosed = closing !== undefined && ids[0] === closing.id && history.tokens.at(-1) === closing.id;
  return { messages, tokens: concatenate(history.tokens, isClosed ? ids.subarray(1) : ids) };
}

/** What the template writes after the model's last turn, once the new message is there. */
function newText(tokenizer: Tokenizer, before: readonly Message[], after: readonly Message[]): string {
  const placeholder = unusedPlaceholder(after);
  const filled = (messages: readonly Message[]): Message[] =>
    messages.map((message) =>
      message.role === "assistant" ? { ...message, content: placeholder } : message,
    );
  const rendered = tokenizer.render(filled(after), true);
  const position = rendered.lastIndexOf(placeholder);
  const past = rendered.slice(0, Math.max(0, position));
  // The generation prompt may hold more than the start of an old turn does (an empty block of thinking), or less white
  // space (Llama 2 writes a space before an answer, and its tokenizer makes one).
  const [asked, prompt] = [false, true].map((generate) =>
    tokenizer.render(filled(before.slice(0, -1)), generate),
  );
  const keepsAll = past.startsWith(asked?.trimEnd() ?? "");
  const isStable = position >= 0 && keepsAll && prompt?.startsWith(past.trimEnd()) === true;
  if (isStable) return rendered.slice(position + placeholder.length);
  throw new TroupeError(
    "unsupported",
    "the model's chat template rewrites earlier messages when a new one is added, so a conversation cannot be kept " +
      "token by token; set `memory: turn` for the role, or give the model a template that only appends",
  );
}

/** Stands where the model's words are while the template is rendered: no message holds it, and trimming leaves it. */
function unusedPlaceholder(messages: readonly Message[]): string {
  let placeholder = "@@model-turn@@";
  while (messages.some(({ content }) => content.includes(placeholder))) placeholder = `@${placeholder}@`;
  return placeholder;
}

/** Where in the template's text the model's turn is closed. White space before it was not written by the model. */
function firstEndToken(tokenizer: Tokenizer, text: string): { id: number; index: number } | undefined {
  const decoder = new TextDecoder();
  const found = tokenizer.endTokens
    .filter((id) => tokenizer.tokenBytes(id).length > 0)
    .map((id) => ({ id, index: text.indexOf(decoder.decode(tokenizer.tokenBytes(id))) }))
    .filter(({ index }) => index >= 0 && text.slice(0, index).trim() === "");
  return found.toSorted((a, b) => a.index - b.index)[0];
}

function concatenate(first: Int32Array, second: Int32Array): Int32Array {
  const joined = new Int32Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
