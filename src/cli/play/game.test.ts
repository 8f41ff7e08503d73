import { expect, it } from "vitest";
import { gameEnvironment } from "../../environments/game.ts";
import { createGame } from "../../environments/registry.ts";
import { numbers, pair, roleFor } from "../../rollout/testing/numbers.ts";
import { scriptedEngine } from "../../rollout/testing/scripted-engine.ts";
import { buildTeam } from "../../teams/build.ts";
import type { Team } from "../../teams/team.ts";
import { fixtureTokenizer } from "../../text/testing/fixtures.ts";
import { tinyRecipe } from "../../train/testing/tiny-recipe.ts";
import type { TrainedTeam } from "../trained-team.ts";
import { playGames } from "./game.ts";
import { solverActor, trainedActor } from "./game.ts";

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

it("shows what the role sees; the whole board, and what others wrote, at the end or when asked", async () => {
  const environment = gameEnvironment(createGame("thin-ice", {}));
  const seats = Object.keys(environment.seats).slice(0, 2);
  const roles = Object.fromEntries(seats.map((seat) => [seat, { policy: "solver" }]));
  const team = buildTeam({ roles, phases: [seats], turns: 4 }, environment);
  const play = async (...lines: readonly string[]): Promise<string> => {
    const read: string[] = [];
    const answers = [...lines];
    const person = {
      ask: async () => answers.shift() ?? null,
      tell: (text: string) => void read.push(text),
      [Symbol.dispose]: () => {},
    };
    const [role] = team.roles;
    if (role === undefined) throw new Error("the team has roles");
    await playGames({ environment, team, role, others: solverActor({ environment, team }), person, seed: 1 });
    return read.join("\n");
  };
  // Only the picture of the board has the ice of both halves.
  const whole = "░░ thin ice";
  expect(await play("nonsense")).toContain("heard ");
  expect(await play("nonsense")).not.toContain(whole);
  expect(await play("b")).toContain(whole);
  const ended = await play(...Array.from({ length: 4 }, () => "nonsense"));
  expect(ended.indexOf(whole)).toBeGreaterThan(ended.indexOf("turn 4 of 4"));
  expect(ended).toContain("turn 1, blue: ");
});
