import { expect, test } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import type { Demonstration, Environment } from "../environments/environment.ts";
import { keyAt, rootKey } from "../random.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { writeWordTokenizer } from "../text/word-tokenizer.ts";
import { examplesOf, tokensOf, weighted } from "./sft.ts";
import type { DemonstrationSetup } from "./sft.ts";
import { namedTeams } from "./teams.ts";
import { tinyRecipe, wordsOf } from "./testing/tiny-recipe.ts";

const { recipe, environment } = tinyRecipe({
  environment: { name: "plan-path", size: 4, demonstrations: { tasksPerBoard: 3 } },
});
const key = keyAt(rootKey(1), "lesson");
const root = temporaryFolder();
writeWordTokenizer(root, wordsOf({ environment }));
const policy = { tokenizer: loadTokenizer(root), maxLength: 512 };

function setup(changes: Partial<DemonstrationSetup> = {}): DemonstrationSetup {
  const teams = namedTeams(recipe, environment).slice(0, 1);
  return {
    environment,
    teams: teams.map(({ team }) => team),
    policies: { shared: policy },
    isTrained: () => true,
    ...changes,
  };
}

test("the loss covers the demonstrated action and the end of the turn, after the prompt of play", () => {
  const seen: string[] = [];
  const recorded: Environment = {
    ...environment,
    oracle: {
      demonstrations: (at, seats) => {
        const made = environment.oracle?.demonstrations?.(at, seats) ?? [];
        seen.push(...made.map(({ observation, action }) => `${observation}|${action}`));
        return made;
      },
    },
  };
  const taught = examplesOf(setup({ environment: recorded }), key).flatMap(({ prompt, continuations }) =>
    continuations.map(({ tokens, weights }) => {
      const first = weights?.indexOf(1) ?? 0;
      expect(tokens.at(-1)).toBe(policy.tokenizer.endTokens[0]);
      expect(weights?.slice(first)).toEqual(new Float32Array(tokens.length - first).fill(1));
      return {
        prompt: [...prompt, ...tokens.slice(0, first)],
        action: policy.tokenizer.decode(tokens.slice(first)),
      };
    }),
  );
  expect(seen.length).toBeGreaterThanOrEqual(3);
  const expected = seen.map((line) => {
    const [observation = "", action] = line.split("|");
    const prompt = policy.tokenizer.renderPrompt([{ role: "user", content: observation }], true);
    return { prompt: [...prompt], action };
  });
  expect(taught).toEqual(expected);
});

test("the shared prefix of a board's prompts is one prompt", () => {
  const [datum] = examplesOf(setup(), key);
  expect(datum?.continuations.length).toBeGreaterThanOrEqual(3);
  expect(datum?.prompt.length).toBeGreaterThan(1);
});

test("weighted examples sum to a mean over the trained tokens", () => {
  const data = [1, 2, 3].flatMap((index) => examplesOf(setup(), keyAt(key, index)));
  const weights = weighted(data)
    .flatMap(({ continuations }) => continuations)
    .flatMap((continuation) => [...(continuation.weights ?? [])]);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  expect(tokensOf(data)).toBeGreaterThan(10);
  expect(total).toBeCloseTo(1, 5); // weights are float32
});

test("untrained roles get no examples", () => {
  expect(examplesOf(setup({ isTrained: () => false }), key)).toEqual([]);
});

test("a demonstration without an action names its seat and what is missing", () => {
  const incomplete = [{ seat: "scout", observation: "a1" }] as unknown as Demonstration[];
  const broken: Environment = { ...environment, oracle: { demonstrations: () => incomplete } };
  expect(() => examplesOf(setup({ environment: broken }), key)).toThrow(
    "Demonstration 1 (seat scout): `action` is missing or no text.",
  );
});

test("a demonstration that does not fit the model is rejected before training", () => {
  const policies = { shared: { ...policy, maxLength: 12 } };
  expect(() => examplesOf(setup({ policies }), key)).toThrow(
    expect.objectContaining({ code: "too_long" }) as Error,
  );
});
