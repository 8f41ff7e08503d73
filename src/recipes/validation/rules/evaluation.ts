import { didYouMean } from "../../../nearest.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem } from "../problem.ts";
import type { Rule } from "../rule.ts";

export const evaluationSplit: Rule = ({ recipe, environment }) => {
  const { split } = recipe.evaluation;
  const splits = Object.keys(environment.tasks);
  if (splits.includes(split)) return [];
  const problem = `${environment.name} has no split \`${split}\``;
  const fix = didYouMean(split, splits) ?? `its splits are ${splits.join(", ")}`;
  return [{ path: ["evaluation", "split"], problem, fix }];
};

export const evaluationSamples: Rule = ({ recipe: { evaluation } }) => sampleProblems(evaluation);

type Sampled = Pick<Recipe["evaluation"], "samples" | "passAt" | "temperature">;

export function sampleProblems({ samples, passAt, temperature }: Sampled): readonly Problem[] {
  const most = Math.max(0, ...passAt);
  return [
    ...(samples > 1 && temperature === 0
      ? [
          {
            path: ["evaluation", "samples"],
            problem: "at temperature 0 all samples of a task are the same",
            fix: "use a higher temperature for evaluations (evaluation.temperature, `--temperature` of eval), such as 0.7",
          },
        ]
      : []),
    ...(most > samples
      ? [
          {
            path: ["evaluation", "passAt"],
            problem: `pass@${most} needs at least ${most} samples of each task, not ${samples}`,
            fix: "use more samples, or a smaller k",
          },
        ]
      : []),
  ];
}
