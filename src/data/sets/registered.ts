/** The registered data sets. */
import { didYouMean } from "../../nearest.ts";
import { apps } from "./apps.ts";
import { codeContests } from "./code-contests.ts";
import type { CodeSet } from "./code-set.ts";
import { coopHumanEval, humanEval } from "./human-eval.ts";
import { liveCodeBench } from "./live-code-bench.ts";
import { mathSets } from "./math.ts";
import { mbpp } from "./mbpp.ts";

/** To add one, add it here (docs/data-sets.md). */
export const codeSets: readonly CodeSet[] = [
  humanEval,
  coopHumanEval,
  mbpp,
  apps,
  codeContests,
  liveCodeBench,
  ...mathSets,
];

/** By its name here or on the hub, ignoring case. */
export function findCodeSet(name: string): CodeSet | undefined {
  const same = (other: string) => other.toLowerCase() === name.toLowerCase();
  return codeSets.find((set) => same(set.name) || same(set.hub));
}

/** "did you mean `mbpp`?", or the list. */
export function suggestCodeSet(name: string): string {
  const names = codeSets.flatMap((set) => [set.name, set.hub]);
  return didYouMean(name, names) ?? `there are ${codeSets.map((set) => set.name).join(", ")}`;
}
