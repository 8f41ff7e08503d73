/** What each policy is trained on: what its own roles saw and wrote, and nothing else. */
import { describe, expect, test } from "vitest";
import type { Datum, Loss, LossResult } from "../engines/engine.ts";
import { keyAt, rootKey } from "../random.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { examplesOf, demonstrationSetup } from "./sft.ts";
import { learningPolicies, namedTeams, sftPolicies, trainedPolicies } from "./teams.ts";
import { HashEngine } from "./testing/hash-engine.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";
import { trainings } from "./testing/trainings.ts";

const { at, trained: trainedOn } = trainings();
writeWordTokenizer(at("words"), wordsOf(tinyRecipe()));
const tokenizer = loadTokenizer(at("words"));

interface TrainedExample {
  readonly policy: string;
  readonly loss: Loss["type"];
  /** The last word of the observation, which distinguishes a scout's from a planner's. */
  readonly cue: string;
  readonly written: string;
}

/** Records what it is trained on. */
class Witness extends HashEngine {
  readonly trained: TrainedExample[] = [];

  override forwardBackward(data: readonly Datum[], loss: Loss, options?: object): Promise<LossResult> {
    this.trained.push(...data.flatMap((datum) => examplesIn(datum, loss.type)));
    return super.forwardBackward(data, loss, options);
  }
}

function examplesIn({ policy, prompt, continuations }: Datum, loss: Loss["type"]): TrainedExample[] {
  return continuations.map(({ tokens, weights }) => {
    const first = weights === undefined ? 0 : weights.findIndex((weight) => weight !== 0);
    const seen = tokenizer.decode([...prompt, ...tokens.subarray(0, first)]);
    return {
      policy,
      loss,
      cue: seen.split(/\s+/).at(-1) ?? "",
      written: tokenizer.decode(tokens.subarray(first)),
    };
  });
}

const nano = { model: { preset: "nano" } };
const role = (policy: string, frozen = false) => ({ policy, prompt: "", maxTokens: 8, frozen });
const team = (scout: ReturnType<typeof role>, planner: ReturnType<typeof role>) => ({
  roles: { scout, planner },
  phases: [["scout"], ["planner"]],
  turns: 2,
});
const perRole = {
  team: team(role("first"), role("second")),
  policies: { first: nano, second: nano },
  evaluation: { tasks: 2 },
};

const train = { steps: 2, tasksPerStep: 3, learningRate: 0.001 };

async function trainedIn(name: string, changes: Partial<RecipeInput>): Promise<readonly TrainedExample[]> {
  const resolved = tinyRecipe({ train, ...changes });
  const engine = new Witness({ vocabularySize: wordsOf(resolved).length + 6, endToken: 2 });
  await trainedOn(name, resolved, { engine });
  return engine.trained;
}

/** The cues that each policy was trained on, by loss. */
function cues(trained: readonly TrainedExample[]): Record<string, string> {
  const grouped = Map.groupBy(trained, ({ policy, loss }) => `${policy} ${loss}`);
  return Object.fromEntries(
    [...grouped].map(([key, of]) => [key, [...new Set(of.map(({ cue }) => cue))].toSorted().join(" ")]),
  );
}

const teachBases = { steps: 2, demonstrationsPerStep: 4, learningRate: 0.003, teach: "bases" as const };
const frozen = { ...perRole, team: team(role("first", true), role("second")), warmStart: undefined };
const alone = {
  team: { roles: { planner: role("solo") }, phases: [["planner"]], turns: 2 },
  policies: { solo: nano },
  algorithm: { name: "grpo", samples: 3 },
};

describe("what a policy is trained on, in both stages", () => {
  test("a policy for each role: only its own role's examples and actions", async () => {
    const trained = await trainedIn("per-role", perRole);
    const taught = { "first cross_entropy": "route", "second cross_entropy": "plan" };
    expect(cues(trained)).toEqual({ ...taught, "first ppo": "route", "second ppo": "plan" });
    // A scout's example is a list of cells, a planner's contains moves.
    for (const { cue, written } of trained.filter(({ loss }) => loss === "cross_entropy"))
      expect(/up|down|left|right/.test(written)).toBe(cue === "plan");
  });

  test.each<[string, Partial<RecipeInput>, Record<string, string>]>([
    [
      "a shared policy: those of all roles",
      {},
      { "shared cross_entropy": "plan route", "shared ppo": "plan route" },
    ],
    [
      "a warm start of bases: those of all roles first, then each its own",
      { ...perRole, warmStart: teachBases },
      { "nano cross_entropy": "plan route", "first ppo": "route", "second ppo": "plan" },
    ],
    ["a frozen role's actions: nothing", frozen, { "second ppo": "plan" }],
    [
      "nor a policy that it shares with a trained role",
      { ...frozen, team: team(role("one", true), role("one")), policies: { one: nano } },
      { "one ppo": "plan" },
    ],
    ["a single agent is a team of one", alone, { "solo cross_entropy": "plan", "solo ppo": "plan" }],
  ])("%s", async (name, changes, expected) => {
    expect(cues(await trainedIn(name, { evaluation: { tasks: 2 }, ...changes }))).toEqual(expected);
  });
});

function named(changes: Partial<RecipeInput>): Record<string, string[]> {
  const { recipe } = tinyRecipe(changes);
  return {
    taught: [...sftPolicies(recipe)],
    learning: [...learningPolicies(recipe)],
    trained: [...trainedPolicies(recipe)].toSorted(),
  };
}

describe("which policies change", () => {
  const own = { model: { path: "somewhere" } };
  const frozenScout = { ...frozen, warmStart: tinyRecipe().recipe.warmStart };

  test("a frozen preset is trained by the warm start only", () => {
    const expected = { taught: ["first", "second"], learning: ["second"], trained: ["first", "second"] };
    expect(named(frozenScout)).toEqual(expected);
  });

  test("a frozen model of the user is not trained, even if a compared team uses it", () => {
    const compare = { other: { roles: { planner: role("first") }, phases: [["planner"]], turns: 1 } };
    const policies = { first: own, second: nano };
    const changes = { ...frozenScout, policies, evaluation: { tasks: 2, compare } };
    expect(named(changes)).toEqual({ taught: ["second"], learning: ["second"], trained: ["second"] });
  });

  test("a compared team's own policy is trained; it adds nothing to policies it shares", () => {
    const compare = { other: team(role("first"), role("third")) };
    const policies = { first: nano, second: nano, third: nano };
    const changes = { ...perRole, policies, evaluation: { tasks: 2, compare } };
    expect(named(changes)["taught"]).toEqual(["first", "second", "third"]);
    const { recipe, environment } = tinyRecipe(changes);
    const teams = namedTeams(recipe, environment);
    const policy = { tokenizer, maxLength: 512 };
    const setup = demonstrationSetup({ recipe, environment }, teams, {
      first: policy,
      second: policy,
      third: policy,
    });
    const roles = setup.teams.map((each) => each.roles.filter(setup.isTrained).map((one) => one.policy));
    expect(roles).toEqual([["first", "second"], ["third"]]);
  });

  test("nothing changes without warm start and reinforcement", () => {
    const train0 = { steps: 0, tasksPerStep: 1, learningRate: 1 };
    expect(named({ warmStart: undefined, train: train0 })["trained"]).toEqual([]);
  });
});

test("a planner next to a frozen scout of the user still learns to read routes", () => {
  const { recipe, environment } = tinyRecipe({
    ...perRole,
    team: team(role("first", true), role("second")),
    policies: { first: { model: { path: "somewhere" } }, second: nano },
  });
  const policy = { tokenizer, maxLength: 512 };
  const policies = { first: policy, second: policy };
  const setup = demonstrationSetup({ recipe, environment }, namedTeams(recipe, environment), policies);
  const data = Array.from({ length: 20 }, (_, index) => examplesOf(setup, keyAt(rootKey(1), index))).flat();
  expect(new Set(data.map((datum) => datum.policy))).toEqual(new Set(["second"]));
  const prompts = data.flatMap(({ prompt, continuations }) =>
    continuations.map(({ tokens }) => tokenizer.decode([...prompt, ...tokens])),
  );
  const reading = prompts.filter((prompt) => prompt.includes("scout"));
  expect(reading.length).toBeGreaterThan(0.3 * prompts.length);
  expect(reading.length).toBeLessThan(prompts.length);
});
