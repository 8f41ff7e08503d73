/** Asks the coach: within its budget, a few questions at a time, again after failures, and never while it is paused. */
import {
  askService,
  checkKey,
  LostAnswer,
  type AnswerFormat,
  type ChatMessage,
  type ServiceAnswer,
} from "../../clients/ask.ts";
import { ServiceError, TroupeError } from "../../errors.ts";
import { retrying } from "../../calls/retry.ts";
import { limiter } from "../../settle.ts";
import type { JudgeContext } from "../judge.ts";
import { keepRejected } from "./rejected.ts";
import type { Subject } from "../subject.ts";
import { CircuitBreaker } from "./breaker.ts";
import type { CoachOptions } from "./options.ts";
import { checkBudget, spend, spentIn } from "./spending.ts";
import type { Malformed } from "./verdict.ts";

export interface ToAsk<T> {
  readonly messages: readonly ChatMessage[];
  readonly format: AnswerFormat | undefined;
  readonly read: (text: string) => T | Malformed;
  /** Answers that are no verdict are kept under it. Undefined: nobody will look for them. */
  readonly about?: Subject | undefined;
}

export type Ask = <T extends object>(asked: ToAsk<T>) => Promise<T | { readonly failure: string }>;

const respondent = {
  role: "coach",
  alternative: "name a run with the verdicts in judge.recorded",
};

export type AskContext = Pick<JudgeContext, "calls" | "retries" | "report" | "signal">;

/** Before a run begins: it may train for hours until it asks. One with recorded verdicts may need no key. */
export function checkKeyToAsk(options: CoachOptions, { calls }: Pick<AskContext, "calls">): void {
  if (options.recorded === undefined && spentIn(calls).requests === 0) checkKey(options, respondent);
}

/**
 * @throws BudgetError; TroupeError `cancelled`, or `bad_arguments` if the key is missing or not accepted
 */
export function coachAsk(options: CoachOptions, context: AskContext): Ask {
  const { calls, retries, signal } = context;
  const limited = limiter(options.concurrency);
  const breaker = new CircuitBreaker(options.breaker, { ...context, sleep: retries.sleep });
  let underWay = 0;

  const askPaid = async (messages: readonly ChatMessage[], format?: AnswerFormat): Promise<ServiceAnswer> => {
    checkBudget(calls, options, underWay);
    underWay += 1;
    try {
      const question = { messages, ...(format === undefined ? {} : { format }) };
      const answer = await askService(options, respondent, question, signal ?? never);
      await spend(calls, options, usedBy(messages, answer));
      return answer;
    } catch (error) {
      const used = error instanceof LostAnswer ? usedBy(messages, lost) : unanswered;
      if (error instanceof ServiceError) await spend(calls, options, used);
      throw error;
    } finally {
      underWay -= 1;
    }
  };
  return async ({ messages, format, read, about }) => {
    const attempt = async () => {
      const answer = await limited(() => breaker.pass(() => askPaid(messages, format)), signal);
      const verdict = read(answer.text);
      if (!("problem" in verdict)) return verdict;
      if (about !== undefined) await keepRejected(calls, about, { ...verdict, text: answer.text });
      const why = answer.isCutOff ? `it reached judge.maxTokens (${options.maxTokens}); ` : "";
      throw new ServiceError(`${why}${verdict.problem}`);
    };
    try {
      return await retrying(attempt, retries, signal);
    } catch (error) {
      if (signal?.aborted === true) throw new TroupeError("cancelled", "The coach's work was cancelled.");
      if (!(error instanceof ServiceError)) throw error;
      return { failure: error.message };
    }
  };
}

const never = new AbortController().signal;

const unanswered = { inputTokens: 0, outputTokens: 0 };
const lost = { text: "", inputTokens: null, outputTokens: null };

function usedBy(
  messages: readonly ChatMessage[],
  answer: Omit<ServiceAnswer, "isCutOff">,
): typeof unanswered {
  const asked = messages.reduce((sum, { content }) => sum + content.length, 0);
  return {
    inputTokens: tokensOf(asked, answer.inputTokens),
    outputTokens: tokensOf(answer.text.length, answer.outputTokens),
  };
}

/**
 * What the service counts. If it does not count, or less than a token for eight characters, which no tokenizer needs for
 * prose or JSON and which would outwit a budget: a token for four characters.
 */
function tokensOf(characters: number, counted: number | null): number {
  return counted === null || counted < characters / 8 ? Math.ceil(characters / 4) : counted;
}
