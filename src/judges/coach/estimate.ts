/** What a coach would cost, by the sampling plan. */
import { sum } from "../../statistics.ts";
import type { JudgeEstimate, PlannedQuestions } from "../estimate.ts";
import type { CoachOptions } from "./options.ts";
import { costOf, priceOf } from "./prices.ts";
import { blameRule, rubric } from "./rubric.ts";

/** Of a verdict; without what a model thinks before it. */
const tokensOfVerdict = 80;
/** The frame of a question, besides the rubric. */
const tokensOfFrame = 400;

/** Tokens of the coach are taken to be as long as those of the policies. */
export function estimateCoach(options: CoachOptions, plan: readonly PlannedQuestions[]): JudgeEstimate {
  const { rubric: own = rubric, instructions = "" } = options;
  const fixed = tokensOfFrame + (own.length + instructions.length + blameRule.length) / 4;
  const parts = plan.map(({ states, alternatives, seen, written, others }) => {
    const asked = options.relative ? alternatives : 1;
    const requests = (states * alternatives) / asked;
    const inputTokens = requests * (fixed + seen + asked * (written + others));
    return { requests, inputTokens, outputTokens: requests * asked * tokensOfVerdict };
  });
  const inputTokens = Math.round(sum(parts.map((part) => part.inputTokens)));
  const outputTokens = Math.round(sum(parts.map((part) => part.outputTokens)));
  const price = priceOf(options);
  return {
    requests: Math.round(sum(parts.map(({ requests }) => requests))),
    inputTokens,
    outputTokens,
    dollars: price === null ? null : costOf({ inputTokens, outputTokens }, price),
    priceOf: price?.checked ?? null,
    budget: options.budget,
  };
}
