/** A recipe that trains in seconds, for tests. */
import { algorithmFrom } from "../../credit/algorithms.ts";
import { gameEnvironment } from "../../environments/game.ts";
import { createGame } from "../../environments/registry.ts";
import { optionsOf } from "../../recipes/choice.ts";
import { recipeSchema, type RecipeInput } from "../../recipes/schema.ts";
import type { Resolved } from "../state.ts";

/** The environment's list of words. */
export function wordsOf({ environment }: Pick<Resolved, "environment">): readonly string[] {
  return environment.oracle?.words ?? [];
}

export function tinyRecipe(changes: Partial<RecipeInput> = {}): Resolved {
  const recipe = recipeSchema.parse({
    name: "tiny",
    environment: { name: "plan-path", size: 4 },
    team: {
      roles: {
        scout: { policy: "shared", prompt: "", maxTokens: 8 },
        planner: { policy: "shared", prompt: "", maxTokens: 8 },
      },
      phases: [["scout"], ["planner"]],
      turns: 2,
    },
    policies: { shared: { model: { preset: "nano" } } },
    algorithm: { name: "at-grpo", samples: 3 },
    warmStart: { steps: 3, demonstrationsPerStep: 4, learningRate: 0.003 },
    train: { steps: 4, tasksPerStep: 3, learningRate: 0.001, minibatches: 2 },
    evaluation: {
      tasks: 6,
      every: 2,
      tasksDuring: 3,
      compare: {
        single: {
          roles: { planner: { policy: "shared", prompt: "", maxTokens: 8 } },
          phases: [["planner"]],
          turns: 2,
        },
      },
    },
    checkpoint: { every: 2, keep: 2 },
    engine: { threads: 1 },
    ...changes,
  } satisfies RecipeInput);
  const { environment, algorithm } = recipe;
  return {
    recipe,
    environment: gameEnvironment(createGame(environment.name ?? "", optionsOf(environment))),
    algorithm: algorithmFrom(algorithm.name ?? "", optionsOf(algorithm)),
  };
}
