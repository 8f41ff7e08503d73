import type { Rule } from "../rule.ts";

export const usedPolicies: Rule = ({ recipe, algorithm }) => {
  const teams = [recipe.team, ...Object.values(recipe.evaluation.compare)];
  const used = new Set(teams.flatMap(({ roles }) => Object.values(roles).map(({ policy }) => policy)));
  if (algorithm.kl?.to !== undefined) used.add(algorithm.kl.to);
  return Object.keys(recipe.policies)
    .filter((name) => !used.has(name))
    .map((name) => ({
      path: ["policies", name],
      problem: "no role uses this policy",
      fix: "remove it, or name it in a role's `policy`",
    }));
};

export const somebodyLearns: Rule = ({ recipe }) => {
  if (Object.values(recipe.team.roles).some((role) => !role.frozen)) return [];
  const problem = "every role is frozen, so nothing is trained";
  const fix = "remove `frozen` from a role, or evaluate the team with `train.steps: 0`";
  return [{ path: ["team", "roles"], problem, fix }];
};
