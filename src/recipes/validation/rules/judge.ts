/** Options of the recipe's judge: its own checks, and when it is asked. */
import type { ConfiguredJudge } from "../../../judges/judge.ts";
import { choosesByReward } from "../../../rollout/judging.ts";
import { optionsOf } from "../../choice.ts";
import type { Problem, Rule, Subject } from "../rule.ts";

export const judgeProblems: Rule = ({ recipe, judgeRow }) => {
  const { judge = {}, team, evaluation } = recipe;
  const teams = [team, ...Object.values(evaluation.compare)];
  const roles = teams.flatMap((one) => Object.keys({ ...one.roles, ...one.hosted }));
  return (judgeRow?.problems?.(optionsOf(judge), roles) ?? []).map(({ option, problem, fix }) => ({
    path: ["judge", option],
    problem,
    fix,
  }));
};

export const judgeUseProblems: Rule = (subject) => {
  const { judge } = subject;
  if (judge === undefined) return [];
  return [
    ...tooLateForChoice(judge, subject),
    ...tooLateForComments(judge),
    ...outcomesOfSome(judge, subject),
    ...unknownTypes(judge, subject),
  ].map(({ path, ...rest }) => ({ path: ["judge", ...path], ...rest }));
};

/** The sampler needs rewards before there is an outcome. */
function tooLateForChoice({ when }: ConfiguredJudge, { algorithm }: Subject): readonly Problem[] {
  const { name, sampling } = algorithm;
  if (when !== "episode" || !choosesByReward(sampling)) return [];
  const problem = `${name} chooses among actions by their rewards before the episode ends`;
  return [
    { path: ["when"], problem, fix: "use `when: action`, or let the algorithm continue from all actions" },
  ];
}

function tooLateForComments({ when, comments }: ConfiguredJudge): readonly Problem[] {
  if (comments !== true || when !== "episode") return [];
  const problem = "comments are for roles that act later, and there are none at the end of the episode";
  return [{ path: ["comments"], problem, fix: "use `when: action`, or remove it" }];
}

/** Actions that are not continued would have no outcome, and no reward. */
function outcomesOfSome({ outcomeWeight = 0 }: ConfiguredJudge, { algorithm }: Subject): readonly Problem[] {
  if (outcomeWeight === 0 || algorithm.sampling.keep === "all") return [];
  const problem = `${algorithm.name} continues from one of the sampled actions, so the others have no outcome`;
  const fix = "remove it, or choose an algorithm that continues from all actions, such as mas-grpo";
  return [{ path: ["outcomeWeight"], problem, fix }];
}

function unknownTypes({ normalise }: ConfiguredJudge, { environment }: Subject): readonly Problem[] {
  if (normalise === undefined || normalise === "role" || environment.about !== undefined) return [];
  const problem = `${environment.name} has tasks of one type`;
  return [{ path: ["normalise"], problem, fix: "use `normalise: role`" }];
}
