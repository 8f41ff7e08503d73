import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beginHistory, withAction, withMessages, type History } from "./history.ts";
import { changedTokenizer, fixtureTokenizer, textOf } from "./testing/fixtures.ts";
import type { Message, Tokenizer, Tool } from "./tokenizer.ts";

const withMessage = (tokenizer: Tokenizer, history: History, message: Message): History =>
  withMessages(tokenizer, history, [message]);

const chatml = fixtureTokenizer("qwen2");
const [imEnd = -1, endOfText = -1] = chatml.endTokens;

const user = (content: string): Message => ({ role: "user", content });

/** The Qwen2 fixture's tokenizer with another chat template. */
const withTemplate = (template: string): Tokenizer =>
  changedTokenizer("qwen2", { "chat_template.jinja": template });

/** One token per byte: a model may write text in a way the tokenizer never would. */
function byteByByte(text: string): number[] {
  return Array.from(text, (character) => chatml.encode(character)).flatMap((ids) => [...ids]);
}

/** Plays the actions in turn, each after a user message "turn i". Returns the history before each action. */
function play(tokenizer: Tokenizer, actions: readonly Int32Array[]): History[] {
  const prompts: History[] = [];
  for (const [turn, action] of actions.entries()) {
    const past = prompts.at(-1);
    const message = user(`turn ${turn}`);
    const next =
      past === undefined
        ? beginHistory(tokenizer, [message])
        : withMessage(tokenizer, withAction(past, actions[turn - 1] ?? action), message);
    prompts.push(next);
  }
  return prompts;
}

function startsWith(whole: Int32Array, parts: readonly Int32Array[]): boolean {
  const start = parts.flatMap((part) => [...part]);
  return start.every((id, index) => whole[index] === id);
}

describe("a conversation of several turns", () => {
  const actions = ["left left", "goes right", "down"].map((text) =>
    Int32Array.of(...byteByByte(text), imEnd),
  );

  it("keeps the sampled ids, which tokenising again would change", () => {
    const prompts = play(chatml, actions);
    const [first, second, third] = prompts.map(({ tokens }) => tokens) as [
      Int32Array,
      Int32Array,
      Int32Array,
    ];
    expect(startsWith(second, [first, actions[0] as Int32Array])).toBe(true);
    expect(startsWith(third, [second, actions[1] as Int32Array])).toBe(true);
    const messages = [0, 1, 2].flatMap((turn): Message[] => [
      user(`turn ${turn}`),
      { role: "assistant", content: chatml.decode(actions[turn] ?? []) },
    ]);
    const again = chatml.renderPrompt(messages.slice(0, 5), true);
    expect(chatml.decode(again)).toBe(chatml.decode(third)); // the same text
    expect(again.length).toBeLessThan(third.length); // but other ids
  });

  it("never passes the model's words to the tokenizer or the template", () => {
    const seen: string[] = [];
    const watched: Tokenizer = {
      ...chatml,
      encodeMarked: (text) => (seen.push(text), chatml.encodeMarked(text)),
      renderMarked: (messages, generate) => {
        seen.push(...messages.map(({ content }) => content));
        return chatml.renderMarked(messages, generate);
      },
    };
    play(watched, actions);
    expect(seen.join("\n")).toContain("turn 2");
    expect(seen.join("\n")).not.toMatch(/left|right|down/);
  });

  it("equals the template's own rendering if the model writes as the tokenizer would", () => {
    const words = fc
      .array(fc.constantFrom("left", "wall", "goal"), { minLength: 1 })
      .map((list) => list.join(" "));
    fc.assert(
      fc.property(fc.constantFrom("qwen2", "llama3", "word-level"), words, words, (style, said, asked) => {
        const tokenizer = fixtureTokenizer(style);
        const action = Int32Array.of(...tokenizer.encode(said), tokenizer.endTokens[0] ?? -1);
        const begun = beginHistory(tokenizer, [{ role: "system", content: "path" }, user("say")]);
        const history = withMessage(tokenizer, withAction(begun, action), user(asked));
        const whole: Message[] = [
          { role: "system", content: "path" },
          user("say"),
          { role: "assistant", content: said },
          user(asked),
        ];
        expect([...history.tokens]).toEqual([...tokenizer.renderPrompt(whole, true)]);
      }),
      { numRuns: 30 },
    );
  });
});

/** What is added to the history after the action and before the next one. */
const after = (action: readonly number[]): string => {
  const begun = beginHistory(chatml, [user("hello")]);
  const history = withMessage(chatml, withAction(begun, Int32Array.from(action)), user("next"));
  return textOf(chatml, [...history.tokens].slice(begun.tokens.length + action.length));
};
describe("the end of a turn", () => {
  const rest = "\n<|im_start|>user\nnext<|im_end|>\n<|im_start|>assistant\n";

  it.each([
    ["is not repeated if the model wrote it", [...byteByByte("left"), imEnd], rest],
    ["is added if the model was cut off by length", byteByByte("left"), `<|im_end|>${rest}`],
    ["is added after another end token", [...byteByByte("left"), endOfText], `<|im_end|>${rest}`],
    ["is added to an empty action", [], `<|im_end|>${rest}`],
  ])("%s", (_, action, expected) => {
    expect(after(action)).toBe(expected);
  });

  it("omits white space that the template would have put before it", () => {
    const llama2 = fixtureTokenizer("llama2");
    const end = llama2.endTokens[0] ?? -1;
    const begun = beginHistory(llama2, [user("hello")]);
    const fresh = [true, false].map((isClosed) => {
      const action = Int32Array.of(...llama2.encode("left"), ...(isClosed ? [end] : []));
      const { tokens } = withMessage(llama2, withAction(begun, action), user("next"));
      return [...tokens].slice(begun.tokens.length + action.length);
    });
    expect(fresh[1]).toEqual([end, ...(fresh[0] ?? [])]);
    expect(llama2.decode(fresh[0] ?? [])).toBe("[INST] next [/INST]");
  });
});

describe("templates that look back", () => {
  const message = "'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n'";
  /** Like Qwen3 without thinking: an empty block in the generation prompt, none in earlier turns. */
  const thinking = `{% for m in messages %}{{ ${message} }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n\n</think>\n\n' }}{% endif %}`;
  /** Like some Mistral templates: the system message is moved into the last user message. */
  const moving = `{% for m in messages %}{% if m['role'] != 'system' %}{{ '<|im_start|>' + (messages[0]['content'] if loop.last else '') + m['content'] + '<|im_end|>' }}{% endif %}{% endfor %}`;

  it("keep what the model saw, though the template would drop it from earlier turns", () => {
    const tokenizer = withTemplate(thinking);
    const begun = beginHistory(tokenizer, [user("hello")]);
    const { tokens } = withMessage(tokenizer, withAction(begun, Int32Array.of(imEnd)), user("next"));
    const text = textOf(tokenizer, tokens);
    const turn = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    expect(text).toBe(
      `<|im_start|>user\nhello<|im_end|>\n${turn}<|im_end|>\n<|im_start|>user\nnext<|im_end|>\n${turn}`,
    );
  });

  it("are rejected if they move earlier messages, with what to do", () => {
    const tokenizer = withTemplate(moving);
    const begun = beginHistory(tokenizer, [{ role: "system", content: "rules" }, user("hello")]);
    const past = withAction(begun, Int32Array.of(imEnd));
    expect(() => withMessage(tokenizer, past, user("next"))).toThrowError(
      expect.objectContaining({ code: "unsupported", message: expect.stringMatching(/memory: turn/) }),
    );
  });

  it("are not confused by a message that looks like the placeholder of the model's turn", () => {
    const begun = beginHistory(chatml, [user("@@model-turn-1@@")]);
    const past = withAction(begun, Int32Array.of(imEnd));
    const { tokens } = withMessage(chatml, past, user("@@model-turn-1@@ and @@@model-turn-2@@@"));
    expect(startsWith(tokens, [past.tokens])).toBe(true);
    expect(chatml.decode(tokens.slice(past.tokens.length))).toBe(
      "\nuser\n@@model-turn-1@@ and @@@model-turn-2@@@\nassistant\n",
    );
  });
});

it("histories are not mutated by additions", () => {
  const begun = beginHistory(chatml, [user("hello")]);
  const before = structuredClone(begun);
  withMessage(chatml, withAction(begun, Int32Array.of(imEnd)), user("next"));
  expect(begun).toEqual(before);
});

/** Of tools: sampled calls stay as they are, and the template adds the answers. */
const tools: Tool[] = [{ name: "look", description: "What is there." }];
const asked: Message[] = [
  { role: "system", content: "You are at the start." },
  { role: "user", content: "where" },
];
const call = { name: "look", arguments: { x: 1 } };
const answer: Message = { role: "tool", name: "look", content: "a wall" };

/** How a model of this style writes the call, as in the template. */
const calls: Readonly<Record<string, string>> = {
  qwen3: '<tool_call>\n{"name": "look", "arguments": {"x": 1}}\n</tool_call><|im_end|>',
  llama31: '{"name": "look", "parameters": {"x": 1}}<|eot_id|>',
  mistral: '[TOOL_CALLS] [{"name": "look", "arguments": {"x": 1}, "id": "call00001"}]</s>',
};

function answered(tokenizer: Tokenizer, action: Int32Array, added: readonly Message[]): History {
  const begun = beginHistory(tokenizer, asked, tools);
  return withMessages(tokenizer, withAction(begun, action), added);
}

describe.each(Object.entries(calls))("in the style of %s, a tool's answer", (style, written) => {
  const tokenizer = fixtureTokenizer(style);
  const action = tokenizer.encode(written);

  it("continues the sampled tokens as the template would", () => {
    const { tokens } = answered(tokenizer, action, [answer]);
    const whole: Message[] = [...asked, { role: "assistant", content: "", calls: [call] }, answer];
    expect([...tokens]).toEqual([...tokenizer.renderPrompt(whole, true, tools)]);
  });

  it("closes a call that was cut off", () => {
    const cut = action.subarray(0, -1);
    expect([...answered(tokenizer, cut, [answer]).tokens]).toEqual([
      ...answered(tokenizer, action, [answer]).tokens,
    ]);
  });

  it("may follow any output, and may be followed by further turns", () => {
    const begun = beginHistory(tokenizer, asked, tools);
    const token = fc.integer({ min: 0, max: tokenizer.vocabularySize - 1 });
    const turn = fc.tuple(fc.array(token), fc.constantFrom("tool", "user"), fc.string());
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 4 }), (turns) => {
        let history = begun;
        for (const [tokens, role, content] of turns) {
          const before = Int32Array.of(...history.tokens, ...tokens);
          const message: Message = { role: style === "mistral" ? "tool" : role, content };
          history = withMessages(tokenizer, withAction(history, Int32Array.from(tokens)), [message]);
          expect(history.tokens.subarray(0, before.length)).toEqual(before);
          expect(history.tokens.length).toBeGreaterThan(before.length);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe.each(["qwen3", "mistral"])("in the style of %s, the answers of several tools", (style) => {
  const tokenizer = fixtureTokenizer(style);
  const end = tokenizer.endTokens[0] ?? -1;

  it("are one turn", () => {
    const second: Message = { role: "tool", content: "done" };
    const { tokens } = answered(tokenizer, Int32Array.of(end), [answer, second]);
    const both: Message = { role: "assistant", content: "", calls: [call, call] };
    const shown = tokenizer.render([...asked, both, answer, second], true, tools);
    const called = tokenizer.render([...asked, both], false, tools).trimEnd();
    const prompt = tokenizer.render(asked, true, tools);
    const closing = textOf(tokenizer, [end]);
    expect(textOf(tokenizer, tokens).trimStart()).toBe(`${prompt}${closing}${shown.slice(called.length)}`);
  });
});

it("Mistral's templates get the ids of calls, generated if the model gave none", () => {
  const tokenizer = fixtureTokenizer("mistral");
  const action = tokenizer.encode("[TOOL_CALLS] []</s>");
  const named = answered(tokenizer, action, [{ ...answer, callId: "abcdefghi" }, answer]);
  const text = textOf(tokenizer, named.tokens);
  expect(text).toContain('"call_id": "abcdefghi"');
  expect(text).toContain('"call_id": "call00001"');
});

it("a template that supports one call at a time rejects more", () => {
  const tokenizer = fixtureTokenizer("llama31");
  expect(() => answered(tokenizer, tokenizer.encode("left"), [answer, answer])).toThrowError(
    /rejects the messages \(system, user, assistant, tool, tool\): one call at a time/,
  );
});

it("calls in messages that the model did not write are rendered as given", () => {
  const tokenizer = fixtureTokenizer("qwen3");
  const example: Message[] = [...asked, { role: "assistant", content: "so", calls: [call] }, answer];
  const begun = beginHistory(tokenizer, example, tools);
  const action = tokenizer.encode("done<|im_end|>");
  const { tokens } = withMessages(tokenizer, withAction(begun, action), [{ role: "user", content: "and" }]);
  const whole: Message[] = [
    ...example,
    { role: "assistant", content: "done" },
    { role: "user", content: "and" },
  ];
  expect([...tokens]).toEqual([...tokenizer.renderPrompt(whole, true, tools)]);
});
