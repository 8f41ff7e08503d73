/** Asks the coach: within its budget, a few questions at a time, again after failures, and never while it is paused. */
import { call, Fault, type Gate, type Outcome } from "../../calls/call.ts";
import { Service } from "../../calls/services.ts";
import {
  askService,
  checkKey,
  LostAnswer,
  type AnswerFormat,
  type ChatMessage,
  type ServiceAnswer,
} from "../../clients/ask.ts";
import { ServiceError, OutageError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { limiter } from "../../settle.ts";
import type { JudgeContext, Subject } from "../judge.ts";
import { CircuitBreaker } from "./breaker.ts";
import type { CoachOptions } from "./options.ts";
import { checkBudget, spend, spentIn } from "./spending.ts";
import { keepRejected } from "../verdicts.ts";
import type { Malformed } from "./verdict.ts";

export interface ToAsk<T> {
  readonly messages: readonly ChatMessage[];
  readonly format: AnswerFormat | undefined;
  readonly read: (text: string) => T | Malformed;
  /** Answers that are no verdict are kept under it. Undefined: nobody will look for them. */
  readonly about?: Subject | undefined;
}

/** What was read, in which the key is redacted; a fault: answers that are no verdict. */
export type Ask = <T extends object>(asked: ToAsk<T>) => Promise<Outcome<T>>;

const respondent = {
  role: "coach",
  alternative: "name a run with the verdicts in judge.recorded",
};

export type AskContext = Pick<JudgeContext, "calls" | "retries" | "log" | "report" | "show" | "signal">;

/** Before a run begins: it may train for hours until it asks. One with recorded verdicts may need no key. */
export function checkKeyToAsk(options: CoachOptions, { calls }: Pick<AskContext, "calls">): void {
  if (options.recorded === undefined && spentIn(calls).requests === 0) checkKey(options, respondent);
}

/** The service as it is counted. */
export function coachService({ log }: Pick<AskContext, "log">): Service {
  return log?.named("coach") ?? new Service("coach");
}

/**
 * @throws BudgetError; OutageError; TroupeError `cancelled`, or `bad_arguments` if the key is missing or not accepted
 */
export function coachAsk(options: CoachOptions, context: AskContext): Ask {
  const { calls, retries, signal } = context;
  const service = coachService(context);
  const limited = limiter(options.concurrency);
  const breaker = new CircuitBreaker(options.breaker, { ...context, sleep: retries.sleep });
  const rejections = new Rejections(context.show);
  const pay = payer(options, context);
  const gate: Gate = (attempt) => {
    const checked = (): ReturnType<typeof attempt> => {
      rejections.check();
      return attempt();
    };
    return limited(() => breaker.pass(checked), signal);
  };
  return async <T extends object>(asked: ToAsk<T>): Promise<Outcome<T>> => {
    const { messages, format, read, about } = asked;
    const readBoth = (text: string) => ({ verdict: read(text), text });
    const question = { messages, read: readBoth, ...(format === undefined ? {} : { format }) };
    const attempt = async (own: AbortSignal): Promise<T> => {
      const { value, cutOff } = await pay(messages, () => askService(options, respondent, question, own));
      const { verdict, text } = value;
      // What looks like a verdict in an answer without its end may be a draft, or a quotation.
      if (!("problem" in verdict) && cutOff === null) {
        rejections.accepted();
        return verdict;
      }
      const problem = [
        ...(cutOff === null ? [] : [endOf(cutOff, options)]),
        ...("problem" in verdict ? [verdict.problem] : []),
      ].join("; ");
      if (about !== undefined) await keepRejected(calls, about, { problem, text });
      rejections.rejected(problem, asked);
      rejections.check();
      throw new Fault(`${problem}${quoted(text)}`);
    };
    return call(service, attempt, { signal, retries, gate });
  };
}

function endOf(cutOff: "maxTokens" | "service", { maxTokens }: CoachOptions): string {
  return cutOff === "service" ? "the service cut it off" : `it reached judge.maxTokens (${maxTokens})`;
}

function quoted(text: string): string {
  return text.trim() === "" ? ": it is empty" : `: "${showText(text.slice(0, 300), 120)}"`;
}

type Pay = <T>(
  messages: readonly ChatMessage[],
  ask: () => Promise<ServiceAnswer<T>>,
) => Promise<ServiceAnswer<T>>;

/** Asks if the budget allows it, and records what was used. */
function payer(options: CoachOptions, { calls }: AskContext): Pay {
  let underWay = 0;
  return async (messages, ask) => {
    checkBudget(calls, options, underWay);
    underWay += 1;
    try {
      const answer = await ask();
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
}

const unanswered = { inputTokens: 0, outputTokens: 0 };
const lost = { characters: 0, inputTokens: null, outputTokens: null };

function usedBy(
  messages: readonly ChatMessage[],
  answer: Pick<ServiceAnswer<unknown>, "characters" | "inputTokens" | "outputTokens">,
): typeof unanswered {
  const asked = messages.reduce((sum, { content }) => sum + content.length, 0);
  return {
    inputTokens: tokensOf(asked, answer.inputTokens),
    outputTokens: tokensOf(answer.characters, answer.outputTokens),
  };
}

/**
 * What the service counts. If it does not count, or less than a token for eight characters, which no tokenizer needs for
 * prose or JSON and which would outwit a budget: a token for four characters.
 */
function tokensOf(characters: number, counted: number | null): number {
  return counted === null || counted < characters / 8 ? Math.ceil(characters / 4) : counted;
}

/** Rejected answers in a row, with the same fault, to several questions. */
const mostAnswers = 10;
const fewestQuestions = 3;

class Rejections {
  readonly #show: string | undefined;
  #problem = "";
  #answers = 0;
  readonly #questions = new Set<object>();

  /** @param show the command that prints the rejected answers; undefined: none does */
  constructor(show: string | undefined) {
    this.#show = show;
  }

  accepted(): void {
    this.#answers = 0;
    this.#questions.clear();
  }

  /** @param question the same object for the same question */
  rejected(problem: string, question: object): void {
    if (problem !== this.#problem) this.accepted();
    this.#problem = problem;
    this.#answers += 1;
    this.#questions.add(question);
  }

  /** @throws OutageError once there were too many */
  check(): void {
    if (this.#answers < mostAnswers || this.#questions.size < fewestQuestions) return;
    const shown = this.#show === undefined ? "" : ` \`${this.#show}\` prints them.`;
    throw new OutageError(
      `The last ${this.#answers} answers of the coach were no verdicts, for the same reason: ${this.#problem}.${shown} ` +
        "Perhaps another model, judge.schema, judge.maxTokens or judge.instructions help.",
      { until: "once the coach answers as it should" },
    );
  }
}
