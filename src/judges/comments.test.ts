import { describe, expect, it } from "vitest";
import { judgeEpisode } from "./judge-episode.ts";
import type { Judge } from "./judge.ts";
import { silent, talk } from "./testing/talk.ts";
import { withComments } from "../rollout/comments.ts";
import type { Episode } from "../rollout/episode.ts";
import { nodeOf } from "../rollout/navigate.ts";
import type { Script } from "../rollout/testing/scripted-engine.ts";
import { numbersPolicy, pair, roleFor } from "../rollout/testing/numbers.ts";

const { tokenizer } = numbersPolicy();

/** Repeats the number in words of the small vocabulary; fails on `0`. */
const repeating: Judge = {
  judge: async (_, asked) =>
    asked.map(({ node, action }) => ({
      node: node.id,
      action: action.id,
      verdict:
        action.reply.text === "0"
          ? { failure: "no idea" }
          : { score: 0.5, explanation: `rather say ${action.reply.text} unheard` },
    })),
  settle: async () => {},
  close: async () => {},
};
const judge = (episode: Episode) => judgeEpisode(episode, repeating, { fills: "missing", as: "team" });
const lines = { branch: { root: 3, inner: 1 }, keep: "all" } as const;
/** The k-th trajectory starts with k; then everybody says 2. */
const script: Script = (_, index, prompt) => (/\d/.test(prompt) ? "2" : String(index));
const commented = {
  environment: silent(),
  judge,
  judgeMoment: "action",
  comments: true,
  scheme: lines,
  script,
} as const;

const promptOf = (episode: Episode, id: string) => {
  const action = episode.actions.find((one) => one.id === id);
  return tokenizer.decode(action?.prompt ?? new Int32Array());
};

describe("comments", () => {
  it("reach the roles that act next, without what the vocabulary cannot write", async () => {
    const episode = await talk(commented);
    expect(promptOf(episode, "1/second/0")).toContain("say second 1 say 1");
    expect(promptOf(episode, "1.0/first/0")).toContain("say first 1 2 say 1 say 2");
    // The second role's own action, and what the first did since.
    expect(promptOf(episode, "1.0.0/second/0")).toContain("say second 1 2 2 say 2 say 2");
    expect(promptOf(episode, "/first/1")).not.toContain("1");
  });

  it("are no part of the recorded observation, and none follow a failed verdict", async () => {
    const episode = await talk(commented);
    expect(nodeOf(episode, "1").observations["second"]).toBe("say second 1");
    expect(promptOf(episode, "0/second/0")).toBe(
      promptOf(await talk({ scheme: lines, script }), "0/second/0"),
    );
  });

  it("are shown once in a conversation", async () => {
    const roles = [roleFor("first", { memory: "conversation" }), roleFor("second")];
    const episode = await talk({ ...commented, team: { ...pair, roles } });
    const prompt = promptOf(episode, "1.0/first/0");
    expect(prompt.split("say 1 say 2")).toHaveLength(2);
  });

  it("are left out if they leave too few tokens for the action", async () => {
    const long: Judge = {
      ...repeating,
      judge: async (_, asked) =>
        asked.map(({ node, action }) => ({
          node: node.id,
          action: action.id,
          verdict: { score: 1, explanation: "say ".repeat(40) },
        })),
    };
    const episode = await talk({
      ...commented,
      judge: (given) => judgeEpisode(given, long, { fills: "missing", as: "team" }),
    });
    expect(promptOf(episode, "1/second/0")).toBe(
      promptOf(await talk({ scheme: lines, script }), "1/second/0"),
    );
  });

  it("extend the last message of the user, or follow another one", () => {
    const comments = [{ role: "first", text: "say 4" }];
    const added = "say 4";
    expect(withComments("see", comments, tokenizer)).toBe(`see\n\n${added}`);
    const user = { role: "user", content: "see" } as const;
    const tool = { role: "tool", content: "7" } as const;
    expect(withComments([tool, user], comments, tokenizer)).toEqual([
      tool,
      { role: "user", content: `see\n\n${added}` },
    ]);
    expect(withComments([user, tool], comments, tokenizer)).toEqual([
      user,
      tool,
      { role: "user", content: added },
    ]);
    expect(withComments("see", [], tokenizer)).toBe("see");
  });
});
