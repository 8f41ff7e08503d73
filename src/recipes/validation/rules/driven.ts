/** Whether an environment whose program drives itself (`drive`) can be trained so: only whole trajectories exist. */
import type { Algorithm, AlgorithmRow } from "../../../credit/algorithm.ts";
import { optionsOf } from "../../choice.ts";
import type { Problem, Rule } from "../rule.ts";

export const wholeTrajectories: Rule = ({ environment, algorithm, recipe, row }) => {
  if (environment.drive === undefined) return [];
  const { judge } = recipe;
  return [
    ...branching(algorithm, row),
    ...(judge?.comments === true ? [judgedTooLate("comments")] : []),
    ...(judge?.["when"] === "action" ? [judgedTooLate("when")] : []),
  ];
};

function branching({ name, sampling }: Algorithm, row: AlgorithmRow | undefined): readonly Problem[] {
  const { branch, keep, stopAbove, rounds } = sampling;
  const problem = (what: string): string =>
    `${name} ${what}, but a program that drives itself cannot be continued twice from the same moment`;
  const compares = Object.hasOwn(row?.options.shape ?? {}, "handOver");
  const fix = compares
    ? "use `handOver: each`, which compares whole trajectories, if each role answers once per round"
    : "use an algorithm that compares whole trajectories: mas-grpo, grpo, rloo, reinforce-plus-plus, ppo";
  const path = ["algorithm", ...(compares ? ["handOver"] : [])];
  if (branch.inner > 1)
    return [{ path, problem: problem("samples several actions in the middle of an episode"), fix }];
  if (keep !== "all" && keep !== "first")
    return [
      { path, problem: problem("chooses in the middle of an episode which action to continue from"), fix },
    ];
  if (compares && rounds === undefined)
    return [{ path, problem: problem("compares joint actions of one state"), fix }];
  if (stopAbove === undefined) return [];
  const ends = `${name} ends episodes by their rewards, but a program that drives itself is rewarded when it has ended`;
  return [{ path: ["algorithm", "terminationThreshold"], problem: ends, fix: "remove it" }];
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
  "dr-mas": ["rewards"],
  reinforce: ["action", "turns", "rewards"],
  "reinforce-plus-plus": ["action", "turns"],
  ppo: ["action"],
};

/** Where seats compete, only an algorithm that compares a role's own rewards can train another seat than the first. */
export const ownRewards: Rule = ({ environment, recipe, row }) => {
  const [first] = Object.keys(environment.seats);
  const trained = Object.entries(recipe.team.roles).filter(([, { frozen }]) => !frozen);
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
