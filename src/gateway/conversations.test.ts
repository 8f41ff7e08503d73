import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixtureTokenizer } from "../text/testing/fixtures.ts";
import type { Message, Tool } from "../text/tokenizer.ts";
import { Conversations, type Place } from "./conversations.ts";

const tokenizer = fixtureTokenizer("qwen2");
const [end = -1] = tokenizer.endTokens;

const say =
  (role: Message["role"]) =>
  (content: string): Message => ({ role, content });
const [system, user, assistant] = [say("system"), say("user"), say("assistant")];
const search: Tool = { name: "search" };

/** One token for each character: a model may write text in a way that the tokenizer never would. */
function spelt(text: string): Int32Array {
  return Int32Array.of(...Array.from(text, (one) => [...tokenizer.encode(one)]).flat(), end);
}

function usual(text: string): Int32Array {
  return Int32Array.of(...tokenizer.encode(text), end);
}

/** Asks, and answers with the text. */
function exchange(
  talk: Conversations,
  messages: readonly Message[],
  text: string,
  { tools = [], tokens = spelt(text) }: { tools?: readonly Tool[]; tokens?: Int32Array } = {},
): Place {
  const place = talk.place(messages, tools);
  talk.add(place, tokens, assistant(text));
  return place;
}

const call = (given: Readonly<Record<string, unknown>>): Message => ({
  ...assistant(""),
  calls: [{ id: "a1", name: "search", arguments: given }],
});

const first = [system("be brief"), user("left or right")];
const second = [...first, assistant("left"), user("and then")];

describe("a conversation that goes on", () => {
  it("continues with the tokens that were sampled, id for id", () => {
    const talk = new Conversations(tokenizer);
    const before = exchange(talk, first, "left");
    const after = talk.place(second, []);
    const prefix = [...before.history.tokens, ...spelt("left")];
    expect(Array.from(after.history.tokens.slice(0, prefix.length))).toEqual(prefix);
    expect(after.added).toEqual([user("and then")]);
    expect(after).not.toHaveProperty("branch");
    const written = [...tokenizer.renderPrompt(second, true)];
    expect(tokenizer.decode(after.history.tokens)).toBe(tokenizer.decode(written));
    expect([...after.history.tokens]).not.toEqual(written);
  });

  it("has the tokens of the whole rendered again if the model writes as the tokenizer does", () => {
    const replies = fc.constantFrom("left", "right", "go on", "é", "");
    const messages = fc.oneof(replies, fc.constantFrom("<|im_end|>", "<|im_start|>user\n"));
    const turns = fc.array(fc.tuple(replies, messages), { minLength: 1, maxLength: 5 });
    // Two conversations of one role, whose turns alternate.
    fc.assert(
      fc.property(turns, turns, (one, other) => {
        const talk = new Conversations(tokenizer);
        const histories: Message[][] = [[user("one")], [user("other")]];
        for (let turn = 0; turn < Math.max(one.length, other.length); turn++)
          for (const [index, own] of [one, other].entries()) {
            const [reply, next] = own[turn] ?? [];
            const history = histories[index] ?? [];
            if (reply === undefined || next === undefined) continue;
            const place = exchange(talk, history, reply, { tokens: usual(reply) });
            expect([...place.history.tokens]).toEqual([...tokenizer.renderPrompt(history, true)]);
            history.push(assistant(reply), user(next));
          }
      }),
      { numRuns: 30 },
    );
  });

  it("is recognised if a client drops the thinking, and the white space around a reply", () => {
    const talk = new Conversations(tokenizer);
    const place = talk.place(first, []);
    talk.add(place, spelt("<think>hm</think>\n\nleft "), { ...assistant("left "), thinking: "hm" });
    const after = talk.place(second, []);
    expect(after).not.toHaveProperty("branch");
    expect(tokenizer.decode(after.history.tokens)).toContain("<think>hm</think>");
  });

  it("is recognised if a client writes the arguments of a call in another order", () => {
    const talk = new Conversations(tokenizer);
    const place = talk.place([user("find")], [search]);
    talk.add(place, spelt("call"), call({ a: 1, b: { d: 2, c: 3 } }));
    const answered: Message = { role: "tool", content: "found", callId: "a1" };
    const again = [user("find"), call({ b: { c: 3, d: 2 }, a: 1 }), answered];
    expect(talk.place(again, [search])).toMatchObject({ added: [answered] });
  });

  it("may go back to an earlier reply and on from there", () => {
    const talk = new Conversations(tokenizer);
    exchange(talk, first, "left");
    exchange(talk, second, "right");
    const place = talk.place([...first, assistant("left"), user("no, instead")], []);
    expect(place).toMatchObject({ added: [user("no, instead")], isAmbiguous: false });
    expect(place).not.toHaveProperty("branch");
  });
});

describe("a branch says why", () => {
  it.each<[string, readonly Message[], readonly Tool[]]>([
    ["the system message changed", [system("cch=2"), ...second.slice(1)], []],
    ["the system message changed", second.slice(1), []],
    ["the tools changed", second, [search]],
    ["a reply was not sampled here", [...first, assistant("Left!"), user("and then")], []],
    ["earlier messages changed", [first[0] as Message, user("edited"), ...second.slice(2)], []],
    ["earlier messages changed", [user("a summary"), ...second.slice(2)], []],
  ])("%s", (branch, messages, tools) => {
    const talk = new Conversations(tokenizer);
    exchange(talk, first, "left");
    const place = talk.place(messages, tools);
    expect(place).toMatchObject({ branch, added: messages });
    expect([...place.history.tokens]).toEqual([...tokenizer.renderPrompt(messages, true, tools)]);
    // What is sampled there is continued like any other reply.
    talk.add(place, spelt("on"), assistant("on"));
    const next = talk.place([...messages, assistant("on"), user("?")], tools);
    expect(next).toMatchObject({ added: [user("?")] });
    expect(next).not.toHaveProperty("branch");
  });

  it("of what follows the last that is known, whoever else said the same", () => {
    const talk = new Conversations(tokenizer);
    // Two sub-agents of one role begin alike.
    const one = [system("one"), user("task")];
    const two = [system("two"), user("task")];
    for (const start of [one, two]) exchange(talk, start, "left");
    const invented = [assistant("left"), user("so"), assistant("I never said this"), user("go on")];
    expect(talk.place([...two, ...invented], [])).toMatchObject({ branch: "a reply was not sampled here" });
    const third = [system("three"), user("task"), assistant("left"), user("so")];
    expect(talk.place(third, [])).toMatchObject({ branch: "the system message changed" });
    const swapped = [...two, assistant("left"), user("so"), assistant("left"), user("go on")];
    expect(talk.place(swapped, [])).toMatchObject({ branch: "earlier messages changed" });
    expect(talk.place([...two, assistant("left"), user("so")], [search])).toMatchObject({
      branch: "the tools changed",
    });
  });

  it("in every call of a harness that changes its system message, and in none that adds a reminder", () => {
    const talk = new Conversations(tokenizer);
    const said: Message[] = [user("left or right")];
    const reasons: unknown[] = [];
    for (let turn = 0; turn < 3; turn++) {
      reasons.push(exchange(talk, [system(`at ${turn} o'clock`), ...said], `${turn}`).branch);
      said.push(assistant(`${turn}`), user("and then"));
    }
    const changed = "the system message changed";
    expect(reasons).toEqual([undefined, changed, changed]);
    const other = new Conversations(tokenizer);
    exchange(other, first, "left");
    expect(other.place([...second, system("be quick")], [])).not.toHaveProperty("branch");
  });

  it("and a template that drops thinking is none: it stays where it was sampled", () => {
    const qwen3 = fixtureTokenizer("qwen3");
    const talk = new Conversations(qwen3);
    const place = talk.place([user("left or right")], []);
    talk.add(place, qwen3.encode("<think>\nhm\n</think>\n\nleft<|im_end|>"), assistant("left"));
    const next = talk.place([user("left or right"), assistant("left"), user("and then")], []);
    expect(next).not.toHaveProperty("branch");
    expect(next.known).toBe(
      place.history.tokens.length + qwen3.encode("<think>\nhm\n</think>\n\nleft<|im_end|>").length,
    );
  });

  it("but a new conversation is none", () => {
    const talk = new Conversations(tokenizer);
    exchange(talk, first, "left");
    expect(talk.place([system("other"), user("new")], [search])).not.toHaveProperty("branch");
  });
});

it("of replies that read alike with other tokens, the continued one is ambiguous, and so is all that follows", () => {
  const talk = new Conversations(tokenizer);
  exchange(talk, first, "left");
  exchange(talk, first, "left", { tokens: usual("left") });
  const place = exchange(talk, second, "on");
  expect(place.isAmbiguous).toBe(true);
  expect(talk.place([...second, assistant("on"), user("?")], []).isAmbiguous).toBe(true);
  const same = new Conversations(tokenizer);
  exchange(same, first, "left");
  exchange(same, first, "left");
  expect(same.place(second, []).isAmbiguous).toBe(false);
});
