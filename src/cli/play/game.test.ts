import { expect, it } from "vitest";
import { numbers, pair, roleFor } from "../../rollout/testing/numbers.ts";
import { scriptedEngine } from "../../rollout/testing/scripted-engine.ts";
import type { Team } from "../../teams/team.ts";
import { fixtureTokenizer } from "../../text/testing/fixtures.ts";
import { tinyRecipe } from "../../train/testing/tiny-recipe.ts";
import type { TrainedTeam } from "../trained-team.ts";
import { playGames } from "./game.ts";
import { trainedActor } from "./others.ts";

const tokenizer = fixtureTokenizer("qwen3");
const [first, second] = [
  roleFor("first", { maxTokens: 200, showThinking: true }),
  roleFor("second", { maxTokens: 200 }),
];

/** What a person in the seat reads, and the prompts of the other role, until both have acted twice. */
async function played(team: Team, seat: "first" | "second"): Promise<{ read: string; prompts: string[] }> {
  const prompts: string[] = [];
  const engine = scriptedEngine(tokenizer, (_request, _index, prompt) => {
    prompts.push(prompt);
    return "<think>\nI am sure\n</think>\n\n2";
  });
  const policy = { tokenizer, maxLength: 4096 };
  const trained = { resolved: tinyRecipe(), engine, policies: { first: policy, second: policy } };
  const game = { environment: numbers, team };
  const read: string[] = [];
  let asked = 0;
  const person = {
    ask: async () => (asked++ < 2 ? "2" : null),
    tell: (text: string) => void read.push(text),
    [Symbol.dispose]: () => {},
  };
  await playGames({
    ...game,
    role: team.roles.find(({ name }) => name === seat) ?? second,
    others: trainedActor(game, trained as unknown as TrainedTeam),
    person,
    seed: 1,
  });
  return { read: read.join("\n"), prompts };
}

it("shows the person the thinking of roles that show it", async () => {
  const team = { ...pair, roles: [first, second] };
  expect((await played(team, "second")).read).toContain("  Thinking of first:\n  ```\n  I am sure\n  ```");
  const hidden = { ...team, roles: [roleFor("first", { maxTokens: 200 }), second] };
  expect((await played(hidden, "second")).read).not.toContain("I am sure");
});

it("shows it to the other roles as in training", async () => {
  const third = { ...roleFor("first", { maxTokens: 200 }), name: "third" };
  const team = { ...pair, roles: [first, second, third], phases: [["first"], ["third"], ["second"]] };
  const { prompts } = await played(team, "second");
  expect(prompts.map((prompt) => prompt.includes("I am sure"))).toEqual([false, true, false, true]);
});
