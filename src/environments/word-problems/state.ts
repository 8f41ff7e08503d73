import type { Task } from "./task.ts";

/** Null: not yet written. */
export type WordState = {
  readonly task: Task;
  readonly plan: string | null;
  readonly program: string | null;
  /** What the program printed, or "error". */
  readonly output: string | null;
  readonly said: string | null;
};

export type SeatName = "solver" | "executor" | "verifier";
