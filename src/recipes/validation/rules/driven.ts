/** Whether an environment whose program drives itself (`drive`) can be trained so: only whole trajectories exist. */
import type { Algorithm } from "../../../credit/algorithm.ts";
import type { Problem, Rule } from "../rule.ts";

export const wholeTrajectories: Rule = ({ environment, algorithm, recipe }) => {
  if (environment.drive === undefined) return [];
  const branching = branchingOf(algorithm);
  const { judge } = recipe;
  return [
    ...(branching === null
      ? []
      : [
          {
            path: ["algorithm"],
            problem: `${algorithm.name} ${branching}, but a program that drives itself cannot be continued twice from the same moment`,
            fix: "use an algorithm that compares whole trajectories: mas-grpo, grpo, rloo, reinforce-plus-plus, ppo",
          },
        ]),
    ...(judge?.comments === true ? [judgedTooLate("comments")] : []),
    ...(judge?.["when"] === "action" ? [judgedTooLate("when")] : []),
  ];
};

function branchingOf({ sampling: { branch, keep, stopAbove } }: Algorithm): string | null {
  if (branch.inner > 1) return "samples several actions in the middle of an episode";
  if (keep !== "all" && keep !== "first")
    return "chooses in the middle of an episode which action to continue from";
  return stopAbove === undefined ? null : "ends episodes by their rewards";
}

function judgedTooLate(option: string): Problem {
  const problem = "a program that drives itself is judged when it has ended, too late for its roles";
  return { path: ["judge", option], problem, fix: "remove it" };
}

/** What a role of such a program cannot have: its prompts and its tools are the program's. */
export const programsDecide: Rule = ({ environment, recipe }) => {
  if (environment.drive === undefined) return [];
  const options = {
    tools: "its tools",
    memory: "what it remembers",
    showThinking: "who sees its thinking",
  } as const;
  return Object.entries(recipe.team.roles).flatMap(([name, role]) =>
    (Object.keys(options) as (keyof typeof options)[])
      .filter((option) => ![undefined, "turn", false].includes(role[option] as undefined))
      .map((option) => ({
        path: ["team", "roles", name, option],
        problem: `the program of ${environment.name} decides ${options[option]}, so that this has no effect`,
        fix: "remove it",
      })),
  );
};
