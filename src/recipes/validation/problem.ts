/** What a rule finds wrong. Where it was written is added later: rules know keys, not lines. */
import type { Path } from "../tree.ts";

export interface Problem {
  /** The key, from the recipe on: `["team", "roles", "scout", "seat"]`. */
  readonly path: Path;
  /** What was found, and why that cannot work. */
  readonly problem: string;
  /** What to do: the nearest thing that works. */
  readonly fix?: string;
}

/** The same problems, seen from further up. */
export function below(path: Path, problems: readonly Problem[]): readonly Problem[] {
  return problems.map((each) => ({ ...each, path: [...path, ...each.path] }));
}
