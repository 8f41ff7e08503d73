/**
 * MathChat's executor continues its own tokens: its second prompt is the first prompt, the first action as sampled and the
 * program's output, and exactly that is what it trains on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, describe, expect, it } from "vitest";
import { algorithmFrom } from "../src/credit/algorithms.ts";
import { credit } from "../src/credit/credit.ts";
import { toData } from "../src/credit/data.ts";
import { rootKey } from "../src/random.ts";
import type { Episode } from "../src/rollout/episode.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { rolloutDefaults } from "../src/rollout/setting.ts";
import { scriptedEngine } from "../src/rollout/testing/scripted-engine.ts";
import { buildTeam } from "../src/teams/build.ts";
import { likeDeepSeekR1, likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { loadTokenizer, type Tokenizer } from "../src/text/tokenizer.ts";
import { sandbox, works } from "../src/environments/code/testing/sandbox.ts";
import type { Environment } from "../src/environments/environment.ts";
import { python, teamEnvironment } from "../src/environments/math/testing/team.ts";

const folder = mkdtempSync(`${tmpdir()}/troupe-exact-`);
afterAll(() => rmSync(folder, { recursive: true }));

const team = {
  roles: {
    solver: { policy: "one", maxTokens: 200 },
    executor: { policy: "one", maxTokens: 200, memory: "conversation" },
    verifier: { policy: "one", maxTokens: 200 },
  },
  phases: [],
  turns: 1,
} as const;

const thought = "<think>I could print(1).</think>";
/** By role; the executor's second action is known by its prompt. Extra spaces would not survive another tokenisation. */
const first = `${thought}  I add :\n${python("print(3 + 4)")}  `;
const second = `${thought}The sum is 7 .`;

function write(prompt: string): string {
  if (prompt.includes("You are the executor"))
    return prompt.includes("Your program printed") ? second : first;
  return `${thought}\\boxed{7}`;
}

async function play(tokenizer: Tokenizer, samples: number): Promise<{ episode: Episode; prompts: string[] }> {
  const environment = teamEnvironment("mathchat") as unknown as Environment;
  const engine = scriptedEngine(tokenizer, (_, index, prompt) => (index === 0 ? write(prompt) : "nothing"));
  const algorithm = algorithmFrom("reinforce-plus-plus", { samples });
  const setting = {
    ...rolloutDefaults,
    environment,
    team: buildTeam(team, environment),
    engine,
    policies: { one: { tokenizer, maxLength: 4096 } },
    scheme: algorithm.sampling,
    score: algorithm.score,
    sampling: { temperature: 1 },
    services: { sandbox },
  };
  const start = { task: { id: "small/sum" }, path: ["train", 0, 0] };
  const episode = await growEpisode(setting, rootKey(1), start);
  return { episode, prompts: engine.requests.map(({ prompt }) => prompt.join()) };
}

describe.runIf(works).each(Object.entries({ Qwen3: likeQwen3, "DeepSeek-R1": likeDeepSeekR1 }))(
  "with the template of %s",
  (name, made) => {
    writeLargeTokenizer(`${folder}/${name}`, made);
    const tokenizer = loadTokenizer(`${folder}/${name}`);

    it("the second action's prompt is the exact first one, the action, and what the program printed", async () => {
      const { episode, prompts } = await play(tokenizer, 1);
      const [one, two] = episode.actions.filter(({ role }) => role === "executor");
      const before = [...(one?.prompt ?? []), ...(one?.tokens ?? [])];
      expect([...(two?.prompt ?? [])].slice(0, before.length)).toEqual(before);
      const added = tokenizer.decode([...(two?.prompt ?? [])].slice(before.length));
      expect(added).toContain("Your program printed:\n\n```\n7\n```\n\nContinue from this.");
      // The end of the action is there once, and the problem is not repeated.
      expect(added).not.toContain("What is 3 + 4?");
      expect(tokenizer.decode(two?.prompt ?? [])).toContain(first);
      expect(prompts).toContain(two?.prompt.join());
    });

    it("what is trained is what was sampled, after the context it was sampled from", async () => {
      const { episode, prompts } = await play(tokenizer, 2);
      const algorithm = algorithmFrom("reinforce-plus-plus", { samples: 2, kl: { where: "none" } });
      const data = toData(credit([episode], algorithm), algorithm);
      const sampled = episode.actions.map(({ prompt, tokens }) => `${prompt.join()} | ${tokens.join()}`);
      const trained = data.flatMap(({ prompt, continuations }) =>
        continuations.map(({ tokens }) => `${prompt.join()} | ${tokens.join()}`),
      );
      expect(new Set(trained)).toEqual(new Set(sampled));
      expect(data.map(({ prompt }) => prompt.join()).every((prompt) => prompts.includes(prompt))).toBe(true);
      const seconds = episode.actions.filter(({ role, phase }) => role === "executor" && phase === 2);
      expect(seconds).toHaveLength(2);
    });
  },
);
