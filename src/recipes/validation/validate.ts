/**
 * Checks that a recipe can be run: everything that a schema of single values cannot express, by the rules of this
 * folder, before training starts.
 */
import { judgeRow, type Catalog } from "../catalog.ts";
import type { Problem, Combination, Rule } from "./rule.ts";
import { algorithmNeeds, criticVocabulary, klReference, loneActions, klOptions } from "./rules/algorithm.ts";
import { ownRewards, programsDecide, wholeTrajectories } from "./rules/driven.ts";
import { engineLimits, engineSupport, lossSupport, lag } from "./rules/engine.ts";
import { idleOptions } from "./rules/idle-options.ts";
import { judgeProblems, judgeUseProblems } from "./rules/judge.ts";
import { models, reservedPolicies, reservedTeam, somebodyLearns, usedPolicies } from "./rules/models.ts";
import {
  evaluationSamples,
  evaluationSplit,
  minibatches,
  tokenBudget,
  warmUps,
  demonstrations,
  taughtBases,
} from "./rules/stages.ts";
import { teams } from "./rules/teams.ts";
import { tools } from "./rules/tools.ts";
import { measuredLimits, returns } from "./rules/watch.ts";

const always: readonly Rule[] = [
  teams,
  tools,
  programsDecide,
  reservedTeam,
  usedPolicies,
  models,
  taughtBases,
  demonstrations,
  minibatches,
  warmUps,
  evaluationSplit,
  evaluationSamples,
  engineSupport,
  engineLimits,
];

/** Without reinforcement the algorithm is unused, and its options are not checked. */
const withReinforcement: readonly Rule[] = [
  somebodyLearns,
  algorithmNeeds,
  lossSupport,
  klOptions,
  idleOptions,
  reservedPolicies,
  criticVocabulary,
  klReference,
  judgeProblems,
  judgeUseProblems,
  tokenBudget,
  measuredLimits,
  returns,
  loneActions,
  wholeTrajectories,
  ownRewards,
  lag,
];

/** Every problem of a recipe whose single values are valid. */
export function validate(combination: Combination, catalog: Catalog): readonly Problem[] {
  const { recipe } = combination;
  const { name } = recipe.algorithm;
  const subject = {
    ...combination,
    row: name !== undefined && Object.hasOwn(catalog.algorithms, name) ? catalog.algorithms[name] : undefined,
    judgeRow: judgeRow(recipe.judge, catalog.judges),
    presets: catalog.presets,
  };
  const rules = recipe.train.steps === 0 ? always : [...always, ...withReinforcement];
  return rules.flatMap((rule) => rule(subject));
}
