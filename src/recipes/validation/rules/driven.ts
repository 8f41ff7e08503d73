/** Whether an environment whose program drives itself (`drive`) can be trained so: only whole trajectories exist. */
import type { Algorithm } from "../../../credit/algorithm.ts";
import { optionsOf } from "../../choice.ts";
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

/** By algorithm, the values of `reward` that credit a role with its own rewards and no others. */
const ofRoles: Readonly<Record<string, readonly unknown[]>> = {
  "mas-grpo": ["rewards"],
  reinforce: ["action", "turns"],
  "reinforce-plus-plus": ["action", "turns"],
  ppo: ["action"],
};

/** Where seats compete, only an algorithm that compares a role's own rewards can train another seat than the first. */
export const ownRewards: Rule = ({ environment, recipe, row }) => {
  const [first] = Object.keys(environment.seats);
  const trained = Object.entries(recipe.team.roles).filter(([, { frozen }]) => frozen !== true);
  if (environment.competes !== true || row === undefined) return [];
  if (trained.every(([name, { seat = name }]) => seat === first)) return [];
  const { reward, outcomeWeight = 0 } = { ...row.options.safeParse({}).data, ...optionsOf(recipe.algorithm) };
  const { name = "" } = recipe.algorithm;
  if (ofRoles[name]?.includes(reward) === true && outcomeWeight === 0) return [];
  return [
    {
      path: ["algorithm"],
      problem: `the seats of ${environment.name} compete, but ${name} with \`reward: ${String(reward)}\` credits every role with the result of ${first}`,
      fix: "use `{ name: mas-grpo, reward: rewards }`, or train the first role only (`frozen: true` for the others)",
    },
  ];
};
