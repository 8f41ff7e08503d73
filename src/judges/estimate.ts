/** What judging a run would cost. */

/** Questions of one kind: about the actions of a role in one phase and turn. */
export interface PlannedQuestions {
  /** States in which the role acts. */
  readonly states: number;
  /** Actions of the role in each. */
  readonly alternatives: number;
  /** Tokens of the prompt and of one action, and of the actions before and after it in the episode. */
  readonly seen: number;
  readonly written: number;
  readonly others: number;
}

export interface JudgeEstimate {
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** null: the price is not known. */
  readonly dollars: number | null;
  /** When the price was looked up: `2025-11`. null: the recipe has it, or it is not known. */
  readonly priceOf: string | null;
  /** At which the run stops. Absent: never. */
  readonly budget?: Budget;
}

export interface Budget {
  readonly requests?: number | undefined;
  readonly tokens?: number | undefined;
  readonly dollars?: number | undefined;
}
