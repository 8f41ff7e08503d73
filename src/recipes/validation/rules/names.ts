/** Reserved names. */
import { needsInitialPolicies } from "../../../credit/kl/initial.ts";
import type { Rule } from "../rule.ts";

/** The trained team is called `team` in tables and records. */
export const reservedTeam: Rule = ({ recipe }) => {
  if (!Object.hasOwn(recipe.evaluation.compare, "team")) return [];
  const problem = "the name `team` is reserved for the trained team";
  return [{ path: ["evaluation", "compare", "team"], problem, fix: "choose another name" }];
};

/** References and critics have names like policies in the engine and in checkpoints. */
export const reservedPolicies: Rule = ({ recipe, algorithm }) => {
  const reserved = [
    ...(algorithm.critic === null ? [] : [/^critic($|-)/]),
    ...(!needsInitialPolicies(algorithm) ? [] : [/^reference-/]),
  ];
  return Object.keys(recipe.policies)
    .filter((name) => reserved.some((pattern) => pattern.test(name)))
    .map((name) => ({
      path: ["policies", name],
      problem: `${algorithm.name} reserves names like \`${name}\` for its models`,
      fix: "choose another name",
    }));
};
