/** The stages of a run: warm start, schedules, evaluation. */
import { holdsAdapter } from "../../../models/adapter-base.ts";
import { didYouMean } from "../../../nearest.ts";
import type { Recipe } from "../../schema.ts";
import type { Problem, Rule } from "../rule.ts";

export const minibatches: Rule = ({ recipe: { train } }) => {
  if (train.minibatches <= train.tasksPerStep) return [];
  const problem = `${train.minibatches} minibatches need at least as many tasks; train.tasksPerStep is ${train.tasksPerStep}`;
  return [
    { path: ["train", "minibatches"], problem, fix: `use at most train.tasksPerStep, ${train.tasksPerStep}` },
  ];
};

export const warmUps: Rule = ({ recipe: { train, warmStart } }) =>
  Object.entries({ train, warmStart }).flatMap(([name, schedule]): readonly Problem[] => {
    if (schedule === undefined || schedule.steps === 0 || schedule.warmupSteps < schedule.steps) return [];
    const problem = `a warm-up of ${schedule.warmupSteps} steps does not fit into ${schedule.steps} steps`;
    return [{ path: [name, "warmupSteps"], problem, fix: `lower it, as with \`${name}.warmupSteps=0\`` }];
  });

/** A budget below what every step samples anyway has no effect: each action has at least one token. */
export const tokenBudget: Rule = ({ recipe, algorithm }) => {
  const { tokensPerStep, tasksPerStep } = recipe.train;
  const { root } = algorithm.sampling.branch;
  const least = tasksPerStep * root * (recipe.team.phases[0]?.length ?? 1);
  if (tokensPerStep === undefined || tokensPerStep > least) return [];
  const problem = `${tokensPerStep} tokens are always reached: ${tasksPerStep} tasks start with ${least} actions of at least one token`;
  const fix = "use more tokens, or a smaller train.tasksPerStep";
  return [{ path: ["train", "tokensPerStep"], problem, fix }];
};

/** An adapter is only meaningful on the base it was trained on. */
export const taughtBases: Rule = ({ recipe: { policies, warmStart } }) => {
  if (warmStart?.teach !== "bases") return [];
  const found = Object.entries(policies).find(([, { model }]) => "path" in model && holdsAdapter(model.path));
  if (found === undefined) return [];
  const problem = `a warm start of the bases would change the model that the adapter of ${found[0]} was trained on`;
  return [{ path: ["warmStart", "teach"], problem, fix: "use `teach: policies`, or start from a model" }];
};

export const demonstrations: Rule = ({ recipe, environment }) => {
  if (recipe.warmStart === undefined || environment.oracle?.demonstrations !== undefined) return [];
  const problem = `${environment.name} has no demonstrations`;
  return [
    { path: ["warmStart"], problem, fix: "remove warmStart, and start from a model that can already act" },
  ];
};

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
