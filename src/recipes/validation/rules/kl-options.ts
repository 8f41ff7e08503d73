/** Options of `kl` that have no effect together, or cannot work. */
import type { KlOptions } from "../../../credit/rows/options.ts";
import type { Problem } from "../problem.ts";
import type { Rule } from "../rule.ts";

export const klOptions: Rule = ({ recipe, row }) => {
  const given = recipe.algorithm["kl"] as KlOptions | undefined;
  const standard = row?.options.safeParse({}).data?.["kl"] as KlOptions | undefined;
  if (given === undefined || standard === undefined) return [];
  const found = klProblem(given, standard);
  return found === undefined ? [] : [{ ...found, path: ["algorithm", "kl", ...found.path] }];
};

/** @param standard the row's own defaults, which are never rejected */
function klProblem(given: KlOptions, standard: KlOptions): Problem | undefined {
  const { where, to, estimator, coefficient, target, horizon } = given;
  const isOwn = {
    target: target !== undefined,
    horizon: horizon !== standard.horizon,
    estimator: estimator !== standard.estimator,
    to: to !== undefined,
    coefficient: coefficient !== 0 && coefficient !== standard.coefficient,
  };
  const [idle] = Object.entries(isOwn).filter(([, own]) => own);
  if (where === "none" && idle !== undefined) {
    const problem = "it has no effect: KL is not computed";
    return { path: [idle[0]], problem, fix: "add `where: reward` or `where: loss`, or remove it" };
  }
  if (coefficient === 0 && target === undefined && isOwn.estimator) {
    const problem = "it has no effect: KL is off with coefficient 0";
    return { path: ["estimator"], problem, fix: "use a coefficient above 0, or remove it" };
  }
  if (target === undefined && isOwn.horizon) {
    const problem = "it has no effect: without a `target`, β is constant";
    return { path: ["horizon"], problem, fix: "add a `target`, or remove it" };
  }
  if (where === "loss" && estimator === "k1") {
    // ∇k1 = ∇log π, whatever the reference is; its mean over the policy's own samples is 0.
    const problem = "in the loss, the gradient of k1 does not depend on the reference";
    return { path: ["estimator"], problem, fix: "use k2 or k3, or `where: reward`" };
  }
  if (coefficient > 0 || target === undefined) return undefined;
  const problem = "β is adapted by multiplication, so it stays 0";
  return { path: ["coefficient"], problem, fix: "use more than 0, or remove the target" };
}
