/** The hidden labels, and what a submission predicts. */

export interface Truth {
  /** In the order of the test set. Labels; for regression, numbers as text. */
  readonly labels: readonly string[];
  /** Of a classification, sorted; of two, the second is the positive one unless a task says otherwise. */
  readonly classes: readonly string[];
  readonly positive: string;
}

/**
 * One row per row of the test set: a label, a number, the probability of the positive class, or one of each class in
 * the order of `classes`.
 */
export interface Predictions {
  readonly labels: readonly string[];
  /** Rows of one number, or of one for each class. */
  readonly numbers: readonly (readonly number[])[];
}
