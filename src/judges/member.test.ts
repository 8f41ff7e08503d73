import { describe, expect, it } from "vitest";
import type { Environment } from "../environments/environment.ts";
import { teamEnvironment } from "../environments/math/testing/team.ts";
import { rootKey } from "../random.ts";
import type { Episode } from "../rollout/episode.ts";
import { growEpisode } from "../rollout/grow.ts";
import { oneTrajectory, rolloutDefaults } from "../rollout/setting.ts";
import { scriptedEngine } from "../rollout/testing/scripted-engine.ts";
import { buildTeam } from "../teams/build.ts";
import { fixtureTokenizer } from "../text/testing/fixtures.ts";
import { judgeEpisode } from "./judge-episode.ts";
import { memberJudge, memberOptions, scoreIn } from "./member.ts";
import { mixedRewards } from "./rewards.ts";
import { judgeContext } from "./testing/talk.ts";

describe("a score in a text", () => {
  it.each([
    ["\\boxed{7}", 0.7],
    ["first \\boxed{2}, then \\boxed{ 10 }", 1],
    ["\\boxed{2.5}", 0.25],
    ["\\boxed{11}", null],
    ["\\boxed{-1}", null],
    ["\\boxed{7} or \\boxed{none}", null],
    ["it says \\boxed{10}, but I say \\boxed{", null],
    ["it says \\boxed{10}, but I say \\boxed{\\frac{1}{2}}", null],
    ["it says \\boxed{10}, but I say \\boxed 2", null],
    ["7 of 10", null],
    ["", null],
  ])("%s is %s", (text, score) => {
    expect(scoreIn(text, 10)).toBe(score);
  });
});

const tokenizer = fixtureTokenizer("qwen3");

const environment = teamEnvironment("judge") as unknown as Environment;
const team = buildTeam(
  {
    roles: {
      generator: { policy: "one", maxTokens: 200 },
      judge: { policy: "one", maxTokens: 200, frozen: true },
    },
    phases: [],
    turns: 1,
  },
  environment,
);

/** The judge saw everything that it writes about. */
function play(solution: string, judgement: string): Promise<Episode> {
  const engine = scriptedEngine(tokenizer, (_, __, prompt) =>
    prompt.includes("You judge a solution") ? judgement : solution,
  );
  const policies = { one: { tokenizer, maxLength: 4096 } };
  const parts = { environment, team, engine, policies, scheme: oneTrajectory, score: () => 0 };
  const setting = { ...rolloutDefaults, ...parts, sampling: { temperature: 1 } };
  return growEpisode(setting, rootKey(1), { task: { id: "small/sum" }, path: ["train", 0, 0] });
}

async function judged(solution: string, judgement: string, given: object = {}) {
  const use = memberOptions.parse({ role: "judge", ...given });
  const episode = await play(solution, judgement);
  const judge = memberJudge(use, judgeContext({ team, environment }));
  const { nodes } = mixedRewards(await judgeEpisode(episode, judge, use), use);
  const [generator, own] = nodes.flatMap(({ actions }) => actions);
  return { generator, own };
}

describe("a member as judge", () => {
  it("gives the others its score as their reward, and has its own from the environment", async () => {
    const { generator, own } = await judged("\\boxed{7}", "All steps hold. \\boxed{9}");
    expect(generator?.verdict).toEqual({ score: 0.9, explanation: "All steps hold. \\boxed{9}" });
    expect(generator?.reward).toEqual({ team: 0.9, local: 0, parts: {} });
    expect(own?.verdict).toBeUndefined();
    expect(own?.reward).toEqual({ team: 0, local: 1, parts: { format: 1 } });
  });

  it.each([
    ["\\boxed{7}", "\\boxed{4}", (0.4 + 1) / 2],
    ["\\boxed{8}", "Convinced! \\boxed{10}", 0.5],
    ["\\boxed{8}", "\\boxed{0}", 0],
  ])("%s and the score %s make %d with half of the truth", async (solution, judgement, reward) => {
    const { generator } = await judged(solution, judgement, { outcomeWeight: 0.5 });
    expect(generator?.reward?.team).toBeCloseTo(reward, 12);
  });

  it("leaves the others without a reward if it writes no score", async () => {
    const { generator, own } = await judged("\\boxed{7}", "Looks good.");
    expect(generator?.reward).toBeNull();
    expect(generator?.verdict).toEqual({ failure: "judge wrote no score from 0 to 10 in \\boxed{}" });
    expect(own?.reward?.reason).toBe("no score from 0 to 10 in \\boxed{}");
  });

  it("leaves the others without a reward if it is cut off: what it quotes is not its score", async () => {
    const { generator } = await judged("\\boxed{7}", `It says \\boxed{10}. ${"I doubt it. ".repeat(100)}`);
    expect(generator?.verdict).toEqual({ failure: "what judge wrote was cut off at its length" });
  });

  it("has said nothing about what follows it", async () => {
    const { own } = await judged("\\boxed{7}", "\\boxed{9}", { fills: "all" });
    expect(own?.verdict).toEqual({ failure: "judge has not acted after it" });
  });

  it("names the roles if the team has none of that name", () => {
    const stranger = memberOptions.parse({ role: "third" });
    expect(() => memberJudge(stranger, judgeContext())).toThrow(
      "judge.role: the team has no role third; its roles are first, second",
    );
  });
});
