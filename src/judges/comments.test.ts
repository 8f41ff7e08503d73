import { describe, expect, it } from "vitest";
import { judgeBy, judged, silent, talk } from "./testing/talk.ts";
import { withComments } from "../rollout/comments.ts";
import type { Episode } from "../rollout/episode.ts";
import { nodeOf } from "../rollout/navigate.ts";
import type { Script } from "../rollout/testing/scripted-engine.ts";
import { numbersPolicy, pair, roleFor } from "../rollout/testing/numbers.ts";

const { tokenizer } = numbersPolicy();

/** Repeats the number in words of the small vocabulary; fails on `0`. */
const repeating = judgeBy(({ action: { reply } }) =>
  reply.text === "0"
    ? { failure: "no idea" }
    : { score: 0.5, explanation: `rather say ${reply.text} unheard` },
);
const talkative = judgeBy(() => ({ score: 1, explanation: "say ".repeat(40) }));
const lines = { branch: { root: 3, inner: 1 }, keep: "all" } as const;
/** The k-th trajectory starts with k; then everybody says 2. */
const script: Script = (_, index, prompt) => (/\d/.test(prompt) ? "2" : String(index));
const commented = {
  environment: silent(),
  judge: (episode: Episode) => judged(repeating, episode),
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
    const episode = await talk({ ...commented, judge: (given) => judged(talkative, given) });
    const uncommented = await talk({ scheme: lines, script });
    expect(promptOf(episode, "1/second/0")).toBe(promptOf(uncommented, "1/second/0"));
  });

  it("extend the last message of the user, or follow another one", () => {
    const comments = [{ role: "first", text: "say 4" }];
    expect(withComments("see", comments, tokenizer)).toBe("see\n\nsay 4");
    const user = { role: "user", content: "see" } as const;
    const tool = { role: "tool", content: "7" } as const;
    const extended = { role: "user", content: "see\n\nsay 4" };
    expect(withComments([tool, user], comments, tokenizer)).toEqual([tool, extended]);
    const another = { role: "user", content: "say 4" };
    expect(withComments([user, tool], comments, tokenizer)).toEqual([user, tool, another]);
    expect(withComments("see", [], tokenizer)).toBe("see");
  });
});
