/** The combinations a schema cannot see: each refusal says why, and the nearest thing that works. */
import type { Algorithm } from "../credit/algorithm.ts";
import type { EngineCapabilities } from "../engines/engine.ts";
import { holdsAdapter } from "../models/adapter-base.ts";
import type { Environment } from "../environments/environment.ts";
import { teamMistakes } from "../teams/build.ts";
import type { Catalog } from "./catalog.ts";
import { checkAlgorithm } from "./check-algorithm.ts";
import { checkModel } from "./check-models.ts";
import type { Recipe, RecipeTeam } from "./schema.ts";
import type { Path } from "./tree.ts";

/** A combination that cannot be run. */
export interface Refusal {
  readonly path: Path;
  readonly problem: string;
  readonly fix?: string;
}

export interface Combination {
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
}

/** Every impossible combination of a recipe whose single values are right. */
export function checkRecipe(combination: Combination, catalog: Catalog): readonly Refusal[] {
  const { recipe, environment } = combination;
  const teams: [Path, RecipeTeam][] = [
    [["team"], recipe.team],
    ...Object.entries(recipe.evaluation.compare).map(([name, team]): [Path, RecipeTeam] => [
      ["evaluation", "compare", name],
      team,
    ]),
  ];
  return [
    ...teams.flatMap(([path, team]) =>
      teamMistakes(team, environment, Object.keys(recipe.policies)).map((mistake) => ({
        ...mistake,
        path: [...path, ...mistake.path],
      })),
    ),
    ...checkNames(recipe),
    ...checkPolicies(recipe, teams, catalog),
    ...checkTaught(recipe),
    ...checkAlgorithm(combination, catalog),
    ...checkSchedules(combination),
    ...checkEngine(combination, catalog.engines[recipe.engine.type]),
  ];
}

/** The trained team is called `team` in tables and records. */
function checkNames(recipe: Recipe): readonly Refusal[] {
  if (!Object.hasOwn(recipe.evaluation.compare, "team")) return [];
  const problem = "the name `team` stands for the team that is trained";
  return [{ path: ["evaluation", "compare", "team"], problem, fix: "call it something else" }];
}

function checkPolicies(
  recipe: Recipe,
  teams: readonly [Path, RecipeTeam][],
  catalog: Catalog,
): readonly Refusal[] {
  const used = new Set(teams.flatMap(([, team]) => Object.values(team.roles).map((role) => role.policy)));
  const refusals: Refusal[] = [];
  for (const [name, policy] of Object.entries(recipe.policies)) {
    const path = ["policies", name];
    if (!used.has(name)) {
      refusals.push({
        path,
        problem: "no role plays with this policy",
        fix: "remove it, or name it in a role's `policy`",
      });
    }
    refusals.push(...checkModel(path, policy, catalog));
  }
  if (recipe.train.steps > 0 && Object.values(recipe.team.roles).every((role) => role.frozen)) {
    const fix = "take `frozen` from a role, or measure the team as it is with `train.steps: 0`";
    refusals.push({
      path: ["team", "roles"],
      problem: "every role is frozen, so nothing would be trained",
      fix,
    });
  }
  return refusals;
}

/** An adapter was trained on the base it names; on another one it means nothing. */
function checkTaught({ policies, warmStart }: Recipe): readonly Refusal[] {
  if (warmStart?.teach !== "bases") return [];
  const found = Object.entries(policies).find(([, { model }]) => "path" in model && holdsAdapter(model.path));
  if (found === undefined) return [];
  const problem = `a warm start of bases would change the model below ${found[0]}, which goes on with an adapter on it`;
  return [{ path: ["warmStart", "teach"], problem, fix: "teach the policies, or begin from a model" }];
}

function checkSchedules({ recipe, environment }: Combination): readonly Refusal[] {
  const { train, warmStart } = recipe;
  const refusals: Refusal[] = [];
  if (train.minibatches > train.tasksPerStep) {
    const problem = `${train.minibatches} minibatches cannot be made from ${train.tasksPerStep} tasks, some would be empty`;
    refusals.push({
      path: ["train", "minibatches"],
      problem,
      fix: `at most train.tasksPerStep, ${train.tasksPerStep}`,
    });
  }
  if (warmStart && !environment.demonstrations) {
    const problem = `${environment.name} has no solver to demonstrate its tasks`;
    refusals.push({
      path: ["warmStart"],
      problem,
      fix: "remove warmStart, and start from a model that can already act",
    });
  }
  for (const [name, schedule] of Object.entries({ train, warmStart })) {
    if (schedule === undefined || schedule.steps === 0 || schedule.warmupSteps < schedule.steps) continue;
    const problem = `a warm-up of ${schedule.warmupSteps} steps never ends in ${schedule.steps}`;
    refusals.push({
      path: [name, "warmupSteps"],
      problem,
      fix: `make it smaller, as with \`${name}.warmupSteps=0\``,
    });
  }
  return refusals;
}

function checkEngine({ recipe }: Combination, engine: EngineCapabilities | undefined): readonly Refusal[] {
  if (engine === undefined) return [];
  const type = `the engine \`${recipe.engine.type}\``;
  const refusals: Refusal[] = [];
  if (recipe.train.topK > 0 && !engine.topK) {
    refusals.push({
      path: ["train", "topK"],
      problem: `${type} cannot sample with top-k`,
      fix: "set it to 0",
    });
  }
  for (const [name, policy] of Object.entries(recipe.policies)) {
    const can = policy.adapter ? engine.adapters : engine.wholeModel;
    if (can) continue;
    const what = policy.adapter ? "adapters" : "whole models";
    const fix = policy.adapter ? "remove `adapter`" : "give the policy an `adapter`";
    refusals.push({ path: ["policies", name], problem: `${type} cannot train ${what}`, fix });
  }
  return [...refusals, ...checkStopStrings(recipe, engine, type)];
}

function checkStopStrings(recipe: Recipe, engine: EngineCapabilities, type: string): readonly Refusal[] {
  if (engine.stopStrings) return [];
  return Object.entries(recipe.team.roles)
    .filter(([, role]) => role.stop.length > 0)
    .map(([name]) => ({
      path: ["team", "roles", name, "stop"],
      problem: `${type} cannot stop at a string`,
      fix: "remove it; the chat template's end of turn still stops",
    }));
}
