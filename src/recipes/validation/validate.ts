/**
 * Checks that a recipe can be run: everything that a schema of single values cannot express, by the rules of this
 * folder, before training starts.
 */
import { kindOf } from "../../engines/open.ts";
import type { Catalog } from "../catalog.ts";
import { judgeRow } from "../judge-row.ts";
import type { Problem } from "./problem.ts";
import type { Combination, Rule } from "./rule.ts";
import { algorithmNeeds, criticVocabulary, klReference, loneActions } from "./rules/algorithm.ts";
import { engineSupport, lossSupport } from "./rules/engine.ts";
import { engineLimits } from "./rules/engine-limits.ts";
import { evaluationSamples, evaluationSplit } from "./rules/evaluation.ts";
import { idleOptions } from "./rules/idle-options.ts";
import { judgeProblems, judgeUseProblems } from "./rules/judge.ts";
import { klOptions } from "./rules/kl-options.ts";
import { lag } from "./rules/lag.ts";
import { models } from "./rules/models.ts";
import { reservedPolicies, reservedTeam } from "./rules/names.ts";
import { somebodyLearns, usedPolicies } from "./rules/policies.ts";
import { minibatches, tokenBudget, warmUps } from "./rules/schedules.ts";
import { teams } from "./rules/teams.ts";
import { tools } from "./rules/tools.ts";
import { demonstrations, taughtBases } from "./rules/warm-start.ts";

const always: readonly Rule[] = [
  teams,
  tools,
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
  loneActions,
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
    engine: catalog.engines[kindOf(recipe.engine)],
  };
  const rules = recipe.train.steps === 0 ? always : [...always, ...withReinforcement];
  return rules.flatMap((rule) => rule(subject));
}
