/**
 * Evaluations of one team on the same tasks. Those during training may have fewer tasks (`evaluation.tasksDuring`), the
 * first of those before and after it, which may be easier or harder than the rest.
 */
import { wilsonInterval } from "../statistics.ts";
import type { Evaluation } from "./records.ts";

type OnTasks = Pick<Evaluation, "tasks" | "success" | "low" | "high" | "solved">;

/** The evaluation on its first tasks. Null: it does not say which of its tasks it solved. */
export function onFirstTasks<One extends OnTasks>(evaluation: One, tasks: number): One | null {
  if (tasks === evaluation.tasks) return evaluation;
  const solved = evaluation.solved?.slice(0, tasks);
  if (solved === undefined || solved.length < tasks) return null;
  const successes = solved.replaceAll("0", "").length;
  return { ...evaluation, tasks, success: successes / tasks, ...wilsonInterval(successes, tasks) };
}

/** All of them on the tasks that they have in common; those that cannot be told stay as they are. */
export function onCommonTasks<One extends OnTasks>(evaluations: readonly One[]): readonly One[] {
  const tasks = Math.min(...evaluations.map((one) => one.tasks));
  return evaluations.map((one) => onFirstTasks(one, tasks) ?? one);
}
