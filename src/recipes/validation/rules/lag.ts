/** Whether sampling can overlap with training. */
import type { Problem } from "../problem.ts";
import type { Rule } from "../rule.ts";

const path = ["train", "maxLag"];
const fix = "use `train.maxLag: 0`, which samples and trains in turn";

export const lag: Rule = ({ recipe, algorithm, engine }) => {
  if ((recipe.train.maxLag ?? 0) === 0) return [];
  const problems: Problem[] = [];
  if (engine !== undefined && engine.copy !== true)
    problems.push({
      path,
      problem: `${named(recipe.engine)} samples only from a policy's latest weights`,
      fix,
    });
  if (algorithm.objective.loss.type === "cross_entropy")
    problems.push({ path, problem: `the loss of ${algorithm.name} has no importance weights`, fix });
  return problems;
};

function named(engine: { readonly type: string; readonly profile?: string }): string {
  const profile = engine.profile === undefined ? "" : ` with the profile \`${engine.profile}\``;
  return `the engine \`${engine.type}\`${profile}`;
}
