/** Whether the algorithm can do anything with the team, the policies and the engine. */
import { idleOptions } from "../credit/idle.ts";
import { algorithmMistakes } from "../credit/mistakes.ts";
import type { Catalog } from "./catalog.ts";
import type { Combination, Refusal } from "./check.ts";
import { vocabularyOf } from "./check-models.ts";

/** Without reinforcement the algorithm is not used, and anything goes. */
export function checkAlgorithm(combination: Combination, catalog: Catalog): readonly Refusal[] {
  const { recipe, algorithm, environment } = combination;
  if (recipe.train.steps === 0) return [];
  const { roles, phases, turns } = recipe.team;
  const maxTokens = Object.entries(roles)
    .filter(([, { frozen }]) => !frozen)
    .map(([name, role]) => role.maxTokens ?? environment.seats[role.seat ?? name]?.maxTokens ?? 0);
  return [
    ...algorithmMistakes(algorithm, { phases, turns, maxTokens }, catalog.engines[recipe.engine.type]),
    ...checkIdleOptions(combination, catalog),
    ...checkReservedNames(combination),
    ...checkCentralCritic(combination),
    ...checkTokens(combination),
    ...checkLoneAction(combination),
  ];
}

function checkIdleOptions({ recipe, algorithm }: Combination, catalog: Catalog): readonly Refusal[] {
  const { name, ...options } = recipe.algorithm;
  const row = catalog.algorithms[name];
  return row === undefined
    ? []
    : idleOptions(row, { algorithm, options, team: recipe.team, train: recipe.train });
}

/** A budget below what every step samples would do nothing: each action has a token at least. */
function checkTokens({ recipe, algorithm }: Combination): readonly Refusal[] {
  const { tokensPerStep, tasksPerStep } = recipe.train;
  const { root } = algorithm.sampling.branch;
  const least = tasksPerStep * root * (recipe.team.phases[0]?.length ?? 0);
  if (tokensPerStep === undefined || tokensPerStep > least) return [];
  const problem = `${tokensPerStep} tokens are always reached: ${tasksPerStep} tasks begin with ${least} actions of a token or more`;
  const fix = "give more, or play fewer tasks first, with a smaller train.tasksPerStep";
  return [{ path: ["train", "tokensPerStep"], problem, fix }];
}

/** A policy with one action in a step has nothing to be compared with in its batch, and its advantage would be 0. */
function checkLoneAction({ recipe, algorithm }: Combination): readonly Refusal[] {
  const { baseline, grouping, sampling, whitening } = algorithm;
  const { tasksPerStep, tokensPerStep } = recipe.train;
  const isCompared = whitening !== null || (grouping.spans === "batch" && baseline([1])[0] === 1);
  const acting = Object.values(recipe.team.roles).filter(({ frozen }) => !frozen);
  const fewest = Math.min(
    ...[...Map.groupBy(acting, ({ policy }) => policy).values()].map((own) => own.length),
  );
  const actions = fewest * recipe.team.turns * tasksPerStep * sampling.branch.root;
  if (!isCompared || actions !== 1 || tokensPerStep !== undefined) return [];
  const problem = `${algorithm.name} compares the actions of a policy's whole step, and here there is one: its advantage would be 0`;
  return [{ path: ["train", "tasksPerStep"], problem, fix: "play 2 or more tasks per step" }];
}

/** References and critics stand beside the policies in the engine and in checkpoints. */
function checkReservedNames({ recipe, algorithm }: Combination): readonly Refusal[] {
  const reserved = [
    ...(algorithm.critic === null ? [] : [/^critic($|-)/]),
    ...(algorithm.kl === null ? [] : [/^reference-/]),
  ];
  return Object.keys(recipe.policies)
    .filter((name) => reserved.some((pattern) => pattern.test(name)))
    .map((name) => ({
      path: ["policies", name],
      problem: `${algorithm.name} makes a model of a name like \`${name}\` itself`,
      fix: "call the policy something else",
    }));
}

/** It reads the prompts of several roles one after the other, so their tokens must mean the same. */
function checkCentralCritic({ recipe, algorithm }: Combination): readonly Refusal[] {
  if (algorithm.critic?.scope !== "central") return [];
  const models = Object.values(recipe.team.roles).flatMap(
    ({ policy }) => recipe.policies[policy]?.model ?? [],
  );
  if (new Set(models.map(vocabularyOf)).size < 2) return [];
  const problem = "a central critic reads all roles' prompts, and their models have different tokenizers";
  const fix = "use models with the same tokenizer.json, or a critic per role (`ppo`, `iac`)";
  const option = Object.hasOwn(recipe.algorithm, "critic") ? "critic" : "name";
  return [{ path: ["algorithm", option], problem, fix }];
}
