/** Settings that a server has fixed: a recipe must have the same, since the server would not notice others. */
import { needsInitialPolicies } from "../../../credit/kl/initial.ts";
import type { EngineCapabilities } from "../../../engines/engine.ts";
import { policiesByServer } from "../../../engines/open.ts";
import { adamProblems, adapterProblem } from "../../../engines/limits.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem } from "../problem.ts";
import type { Rule } from "../rule.ts";

export const engineLimits: Rule = ({ recipe, engine, algorithm }) => {
  if (engine === undefined) return [];
  return [
    ...servers(recipe),
    ...optimizers(recipe, engine),
    ...adapters(recipe, engine),
    ...taughtBases(recipe, engine),
    ...ranks(recipe, engine),
    ...policies(recipe, engine, needsInitialPolicies(algorithm)),
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

/** A warm start of base models trains them whole, and adapters come on the result. */
function taughtBases(
  { policies: all, warmStart }: Recipe,
  { limits }: EngineCapabilities,
): readonly Problem[] {
  if (warmStart?.teach !== "bases" || limits?.servedBases !== true) return [];
  const adapted = Object.entries(all).find(([, { adapter }]) => adapter !== undefined);
  if (adapted === undefined) return [];
  const problem = `the server makes no adapters on trained models, as ${adapted[0]} would be`;
  return [{ path: ["warmStart", "teach"], problem, fix: "use `teach: policies`, or `profile: troupe`" }];
}

/** Servers are for policies that exist. */
function servers({ engine, policies: known }: Recipe): readonly Problem[] {
  if (engine.type !== "tinker") return [];
  return Object.keys(engine.servers)
    .filter((policy) => !Object.hasOwn(known, policy))
    .map((policy) => ({
      path: ["engine", "servers", policy],
      problem: "there is no such policy",
      fix: `name one of ${Object.keys(known).join(", ")}`,
    }));
}

function ranks(recipe: Recipe, engine: EngineCapabilities): readonly Problem[] {
  if (engine.limits?.equalRanks !== true) return [];
  return ofServers(recipe).flatMap((server) => {
    const all = server.flatMap((policy) => {
      const { adapter } = recipe.policies[policy] ?? {};
      return adapter ? [{ policy, rank: adapter.rank }] : [];
    });
    const [first] = all;
    if (first === undefined) return [];
    return all
      .filter(({ rank }) => rank !== first.rank)
      .map(({ policy }) => ({
        path: ["policies", policy, "adapter", "rank"],
        problem: "all adapters of the server have one rank",
        fix: `set it to ${first.rank}, as in ${first.policy}`,
      }));
  });
}

function policies(recipe: Recipe, engine: EngineCapabilities, hasReferences: boolean): readonly Problem[] {
  const most = engine.limits?.policies ?? Infinity;
  const count = Math.max(...ofServers(recipe).map(({ length }) => length));
  if (count > most)
    return [
      {
        path: ["policies"],
        problem: `the server has room for ${most} of ${count}`,
        fix: "let roles share a policy, or give policies servers of their own (engine.servers)",
      },
    ];
  if (!hasReferences || 2 * count <= most) return [];
  return [{ path: ["algorithm", "kl"], problem: "the server has no room for references", fix: "remove it" }];
}

function ofServers({ engine, policies: all }: Recipe): readonly (readonly string[])[] {
  return policiesByServer(engine, Object.keys(all));
}
