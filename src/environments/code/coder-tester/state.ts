/** The state of an episode of a coder and a tester. */
import type { TestCounts } from "../rewards.ts";
import type { CodeTask } from "../state.ts";

/** A model's test: a run of the program, or an assertion that consists of literals. */
export type GeneratedTest =
  | { readonly kind: "run"; readonly input: string; readonly output: string }
  | {
      readonly kind: "assertion";
      readonly source: string;
      /** The same as a call; null: JSON does not have its values. */
      readonly call: { readonly arguments: string; readonly accepted: readonly string[] } | null;
    };

export type PairState = {
  readonly task: CodeTask;
  readonly prompt: string;
  /** Empty: a program that reads standard input. */
  readonly entryPoint: string;
  readonly starter: string | null;
  readonly example: string | null;
  /** The last program as written; null: none yet. */
  readonly program: string | null;
  /** The last test; null: none yet, or an invalid one. */
  readonly test: GeneratedTest | null;
  /** The result of the last program on the last test; null: not run, or they agree. */
  readonly mismatch: string | null;
  /** Of the hidden tests; null: no program was tried. */
  readonly hidden: TestCounts | null;
  /** Program and test agree. */
  readonly done: boolean;
};
