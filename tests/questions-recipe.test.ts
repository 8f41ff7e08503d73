/** The included team of a decomposer and a searcher, with scripted words, in real tokens and with real search. */
import { afterAll, expect, it } from "vitest";
import { sourceOf } from "../src/environments/tasks.ts";
import { rootKey } from "../src/random.ts";
import { resolveWithoutModels } from "../src/recipes/resolve.ts";
import { findRecipe } from "../src/recipes/shipped.ts";
import { growEpisode } from "../src/rollout/grow.ts";
import { oneTrajectory, rolloutDefaults } from "../src/rollout/setting.ts";
import { scriptedEngine, type Script } from "../src/rollout/testing/scripted-engine.ts";
import { unrecordedCalls } from "../src/calls/recorded.ts";
import { buildTeam } from "../src/teams/build.ts";
import { fixtureTokenizer } from "../src/text/testing/fixtures.ts";
import { toolService } from "../src/tools/open.ts";

const services = { tools: toolService({ sandbox: undefined as never, recorded: unrecordedCalls() }) };
afterAll(() => services.tools.close());

const search = (query: string): string =>
  `<tool_call>{"name": "search", "arguments": {"query": "${query}"}}</tool_call>`;

/** Follows the chain of documents: company → founder → town → country. */
const follow: Script = (_, __, prompt) => {
  const [, company = ""] = /founder of (\w+)/.exec(prompt) ?? [];
  if (!prompt.includes("suggests")) return `1. Who founded ${company}?\n2. Where was that person born?`;
  const [, founder] =
    new RegExp(`${company} makes \\w+\\. It was founded by (\\w+ \\w+)\\.`).exec(prompt) ?? [];
  if (founder === undefined) return search(company);
  const [, town] = new RegExp(`${founder}, born in (\\w+)`).exec(prompt) ?? [];
  return town === undefined ? search(founder) : `I found it.\nAnswer: ${town}`;
};

it("finds an answer in two searches", async () => {
  const { environment, recipe } = await resolveWithoutModels(findRecipe("questions/decomposer-searcher"));
  const source = sourceOf(environment, "heldOut");
  const tasks = await Promise.all(
    Array.from({ length: source.size ?? 0 }, async (_, index) =>
      source.size === null ? null : source.at(index),
    ),
  );
  const task = tasks.find((one) => JSON.stringify(one).includes("In which town was the founder")) ?? null;
  const tokenizer = fixtureTokenizer("qwen3");
  const setting = {
    ...rolloutDefaults,
    environment,
    team: buildTeam(recipe.team, environment),
    engine: scriptedEngine(tokenizer, follow),
    policies: { model: { tokenizer, maxLength: 8192 } },
    scheme: oneTrajectory,
    score: () => 0,
    sampling: { temperature: 1 },
    services,
  };
  const episode = await growEpisode(setting, rootKey(1), { task, path: ["train", 0, 0] });
  expect(episode.actions.map(({ role }) => role)).toEqual(["decomposer", "searcher", "searcher", "searcher"]);
  expect(episode.ends[0]?.outcome).toEqual({ success: true, score: 1 });
});
