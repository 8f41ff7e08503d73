/** Settings that a server has fixed: a recipe must have the same, since the server would not notice others. */
import type { EngineCapabilities } from "../../../engines/engine.ts";
import { adamProblems, adapterProblem } from "../../../engines/limits.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem } from "../problem.ts";
import type { Rule } from "../rule.ts";

export const engineLimits: Rule = ({ recipe, engine, algorithm }) => {
  if (engine?.limits === undefined) return [];
  return [
    ...optimizers(recipe, engine),
    ...adapters(recipe, engine),
    ...ranks(recipe, engine),
    ...policies(recipe, engine, algorithm.kl !== null),
  ];
};

function optimizers(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  const stages = [
    { stage: "warmStart", adam: recipe.warmStart },
    { stage: "train", adam: recipe.train.steps > 0 ? recipe.train : undefined },
  ];
  return stages.flatMap(({ stage, adam }) =>
    adamProblems(adam ?? {}, engine).map(({ field, expected }) => ({
      path: [stage, field],
      problem: "the server does not take it from a step",
      fix: `set it to the server's ${expected}`,
    })),
  );
}

function adapters(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  return Object.entries(recipe.policies).flatMap(([policy, { adapter }]) => {
    const problem = adapter ? adapterProblem(adapter, engine) : null;
    if (problem === null) return [];
    const path = ["policies", policy, "adapter", problem.field];
    return [{ path, problem: "the server's adapters have another", fix: `set it to ${problem.expected}` }];
  });
}

function ranks(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  const all = Object.entries(recipe.policies).flatMap(([policy, { adapter }]) =>
    adapter ? [{ policy, adapter }] : [],
  );
  const [first] = all;
  if (engine.limits?.equalRanks !== true || first === undefined) return [];
  return all
    .filter(({ adapter }) => adapter.rank !== first.adapter.rank)
    .map(({ policy }) => ({
      path: ["policies", policy, "adapter", "rank"],
      problem: "all adapters of the server have one rank",
      fix: `set it to ${first.adapter.rank}, as in ${first.policy}`,
    }));
}

function policies(recipe: Recipe, engine: EngineCapabilities, hasReferences: boolean): readonly Problem[] {
  const most = engine.limits?.policies ?? Infinity;
  const count = Object.keys(recipe.policies).length;
  if (count > most)
    return [
      {
        path: ["policies"],
        problem: `the server has room for ${most} of ${count}`,
        fix: "let roles share a policy",
      },
    ];
  if (!hasReferences || 2 * count <= most) return [];
  return [{ path: ["algorithm", "kl"], problem: "the server has no room for references", fix: "remove it" }];
}
