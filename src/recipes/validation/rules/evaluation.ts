import { didYouMean } from "../../../nearest.ts";
import type { Rule } from "../rule.ts";

export const evaluationSplit: Rule = ({ recipe, environment }) => {
  const { split } = recipe.evaluation;
  const splits = Object.keys(environment.tasks);
  if (splits.includes(split)) return [];
  const problem = `${environment.name} has no split \`${split}\``;
  const fix = didYouMean(split, splits) ?? `its splits are ${splits.join(", ")}`;
  return [{ path: ["evaluation", "split"], problem, fix }];
};
