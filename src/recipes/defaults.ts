/** What a recipe does not set and its environment, its adapters or its number of steps decide. */
import type { Environment } from "../environments/environment.ts";
import { holdsAdapter } from "../models/adapter-base.ts";
import { readAdapterOptions } from "../models/adapter-directory.ts";
import type { Recipe, RecipeTeam } from "./schema.ts";
import { pretrainedLimits, watchSettings } from "./watch.ts";
import { originAt, treeAt, type Origin, type MappingTree, type Path } from "./tree.ts";
import { measuredOnly, type Measuring } from "./validation/rules/watch.ts";
import type { Warning } from "./validation/warnings.ts";

type Stages = Pick<Recipe, "train" | "warmStart">;

/**
 * If a layer shortens a stage so far that the warm-up of a lower layer no longer fits, as `train.steps=2` does, the
 * warm-up is shortened, too. A warm-up set in the same layer as the steps, or a higher one, is left for validation to
 * reject.
 */
export function withFittingWarmUps(
  { train, warmStart }: Stages,
  tree: MappingTree,
): { readonly stages: Stages; readonly adjustments: readonly Warning[] } {
  const fitted = {
    train: fit("train", train, tree),
    warmStart: warmStart && fit("warmStart", warmStart, tree),
  };
  const stages = {
    train: fitted.train.stage,
    ...(fitted.warmStart && { warmStart: fitted.warmStart.stage }),
  };
  return { stages, adjustments: Object.values(fitted).flatMap((each) => each?.adjustments ?? []) };
}

function fit<Stage extends { readonly steps: number; readonly warmupSteps: number }>(
  name: keyof Stages,
  stage: Stage,
  tree: MappingTree,
): { readonly stage: Stage; readonly adjustments: readonly Warning[] } {
  const { steps, warmupSteps } = stage;
  const isInherited = isBelow(originAt(tree, [name, "warmupSteps"]), originAt(tree, [name, "steps"]));
  if (steps === 0 || warmupSteps < steps || !isInherited) return { stage, adjustments: [] };
  const key = `${name}.warmupSteps`;
  const problem = `shortened from ${warmupSteps} to ${steps - 1} to fit ${name}.steps=${steps}`;
  const adjustment = { key, problem, fix: `choose it yourself with ${key}=…` };
  return { stage: { ...stage, warmupSteps: steps - 1 }, adjustments: [adjustment] };
}

function isBelow(lower: Origin, higher: Origin): boolean {
  return lower.kind === "file" && heightOf(lower) < heightOf(higher);
}

/** Order of layers from the top: overrides, changes from outside (an experiment's row), recipes, what they extend. */
function heightOf(origin: Origin): number {
  if (origin.kind === "override") return 2;
  return origin.extended === undefined ? 1 : -origin.extended;
}

type Policy = Recipe["policies"][string];

/** A policy that starts from an adapter directory gets its settings, unless the recipe sets its own. */
export function withAdapters(policies: Recipe["policies"]): Recipe["policies"] {
  const settled = Object.entries(policies).map(([name, policy]) => {
    const adapter = policy.adapter ?? storedAdapter(policy.model);
    return [name, adapter === undefined ? policy : { ...policy, adapter }];
  });
  return Object.fromEntries(settled) as Recipe["policies"];
}

/** Undefined: missing or unreadable, which validation reports. */
function storedAdapter(model: Policy["model"]): Policy["adapter"] {
  if (!("path" in model) || !holdsAdapter(model.path)) return undefined;
  try {
    const { seed: _, ...adapter } = readAdapterOptions(model.path);
    return {
      ...adapter,
      targetModules: adapter.targetModules as NonNullable<Policy["adapter"]>["targetModules"],
    };
  } catch {
    return undefined;
  }
}

/**
 * Policies that start from a directory can already do something that a wrong learning rate destroys: they are watched.
 * Limits of what the recipe does not measure are left out.
 */
export function withLimits(recipe: Recipe, setting: Omit<Measuring, "recipe">): Pick<Recipe, "watch"> {
  const { watch, policies, train } = recipe;
  const isPretrained = Object.values(policies).some(({ model }) => "path" in model);
  if (watch === "off" || watch?.limits !== undefined || !isPretrained || train.steps === 0)
    return watch === undefined ? {} : { watch };
  const limits = measuredOnly(pretrainedLimits, { recipe, ...setting });
  return { watch: { ...(watch ?? watchSettings.parse({})), limits } };
}

/**
 * By default there is one phase per role. If the environment decides who acts there are none; validation rejects phases
 * given by the recipe.
 */
export function withoutPhases(
  { team, evaluation }: Recipe,
  environment: Environment,
  tree: MappingTree,
): Pick<Recipe, "team" | "evaluation"> {
  if (environment.next === undefined) return { team, evaluation };
  const settled = (path: Path, each: RecipeTeam): RecipeTeam =>
    treeAt(tree, [...path, "phases"]) === undefined ? { ...each, phases: [] } : each;
  const compare = Object.entries(evaluation.compare).map(([name, each]) => [
    name,
    settled(["evaluation", "compare", name], each),
  ]);
  return {
    team: settled(["team"], team),
    evaluation: { ...evaluation, compare: Object.fromEntries(compare) as typeof evaluation.compare },
  };
}
