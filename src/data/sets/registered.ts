/** The registered data sets. */
import { didYouMean } from "../../nearest.ts";
import { apps } from "./apps.ts";
import { codeContests } from "./code-contests.ts";
import type { ProblemSet } from "./problem-set.ts";
import { coopHumanEval, humanEval } from "./human-eval.ts";
import { liveCodeBench } from "./live-code-bench.ts";
import { mathSets } from "./math.ts";
import { mbpp } from "./mbpp.ts";

/** To add one, add it here (docs/data-sets.md). */
export const problemSets: readonly ProblemSet[] = [
  humanEval,
  coopHumanEval,
  mbpp,
  apps,
  codeContests,
  liveCodeBench,
  ...mathSets,
];

/** Finds a set by its name here or on the hub, ignoring case. */
export function findProblemSet(name: string): ProblemSet | undefined {
  const same = (other: string) => other.toLowerCase() === name.toLowerCase();
  return problemSets.find((set) => same(set.name) || same(set.hub));
}

/** "did you mean `mbpp`?", or the list. */
export function suggestProblemSet(name: string): string {
  const names = problemSets.flatMap((set) => [set.name, set.hub]);
  return didYouMean(name, names) ?? `there are ${problemSets.map((set) => set.name).join(", ")}`;
}
