/** What a run's coach has used, recorded with its verdicts, and the budget that it must not exceed. */
import { z } from "zod";
import type { RecordedCalls } from "../../calls/recorded.ts";
import { BudgetError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import { sum } from "../../statistics.ts";
import type { JudgeEstimate, PlannedQuestions } from "../judge.ts";
import type { CoachOptions } from "./options.ts";
import { costOf, priceOf } from "./prices.ts";
import { blameRule, rubric } from "./rubric.ts";

export const usageSchema = z.strictObject({
  requests: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  dollars: z.number(),
});

export type Usage = z.output<typeof usageSchema>;

const nothing: Usage = { requests: 0, inputTokens: 0, outputTokens: 0, dollars: 0 };

/** Of one run: all its coaches add to it. */
interface Spending {
  total: Usage;
  /** Number of the next record. */
  next: number;
}

const spendings = new WeakMap<RecordedCalls, Spending>();

/** What has been used in the run so far. */
export function spentIn(calls: RecordedCalls): Usage {
  return spendingOf(calls).total;
}

function spendingOf(calls: RecordedCalls): Spending {
  const known = spendings.get(calls) ?? restored(calls);
  spendings.set(calls, known);
  return known;
}

/** Each record has the totals so far. */
function restored(calls: RecordedCalls): Spending {
  let total = nothing;
  for (let next = 0; ; next++) {
    const found = usageSchema.safeParse(calls.get(keyOf(next)));
    if (!found.success) return { total, next };
    total = found.data;
  }
}

function keyOf(index: number): string {
  return `coach usage ${index}`;
}

export type Priced = Pick<CoachOptions, "provider" | "model" | "price" | "budget">;

/** Records a request. */
export async function spend(
  calls: RecordedCalls,
  options: Priced,
  used: Pick<Usage, "inputTokens" | "outputTokens">,
): Promise<void> {
  const spending = spendingOf(calls);
  const { total } = spending;
  const price = priceOf(options);
  spending.total = {
    requests: total.requests + 1,
    inputTokens: total.inputTokens + used.inputTokens,
    outputTokens: total.outputTokens + used.outputTokens,
    dollars: total.dollars + (price === null ? 0 : costOf(used, price)),
  };
  const key = keyOf(spending.next);
  spending.next += 1;
  await calls.put([{ key, answer: spending.total }]);
}

/**
 * Requests under way count once they are answered, so tokens and dollars may be exceeded by what they use.
 * @param underWay requests
 * @throws BudgetError
 */
export function checkBudget(
  calls: RecordedCalls,
  { budget }: Pick<Priced, "budget">,
  underWay: number,
): void {
  const { requests, inputTokens, outputTokens, dollars } = spentIn(calls);
  const tokens = inputTokens + outputTokens;
  const {
    requests: mostRequests = Infinity,
    tokens: mostTokens = Infinity,
    dollars: most = Infinity,
  } = budget;
  if (requests + underWay >= mostRequests) throw exhausted("requests", `${showCount(mostRequests)} requests`);
  if (tokens >= mostTokens) throw exhausted("tokens", `${showCount(mostTokens)} tokens`);
  if (dollars >= most) throw exhausted("dollars", `$${most}`);
}

function exhausted(name: keyof CoachOptions["budget"], budget: string): BudgetError {
  return new BudgetError(
    `The coach's budget of ${budget} is used up; set a larger one, \`judge.budget.${name}=…\`.`,
  );
}

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
