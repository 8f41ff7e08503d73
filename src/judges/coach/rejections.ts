/** Stops a run whose coach never answers as demanded: each further question would cost as much, and end alike. */
import { OutageError } from "../../errors.ts";

/** Rejected answers in a row, with the same fault, to several questions. */
const mostAnswers = 10;
const fewestQuestions = 3;

export class Rejections {
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
