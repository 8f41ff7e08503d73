/** The interface of validation rules. */
import type { Algorithm, AlgorithmRow } from "../../credit/algorithm.ts";
import type { ConfiguredEngine } from "../../engines/kind.ts";
import type { Environment } from "../../environments/environment.ts";
import type { ConfiguredJudge, JudgeDefinition } from "../../judges/judge.ts";
import type { Recipe } from "../schema.ts";
import type { Path } from "../tree.ts";

/** A recipe whose values are valid, with what its names refer to. */
export interface Combination {
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
  /** Absent: there is none. */
  readonly judge?: ConfiguredJudge | undefined;
  /** Absent: what it supports is not checked. */
  readonly configuredEngine?: ConfiguredEngine | undefined;
}

export interface Subject extends Combination {
  /** The row that defines the algorithm's options; absent: not an included row. */
  readonly row: AlgorithmRow | undefined;
  /** Undefined: there is no judge. */
  readonly judgeRow: JudgeDefinition | undefined;
  readonly presets: readonly string[];
}

export type Rule = (subject: Subject) => readonly Problem[];

export interface Problem {
  /** The key path: `["team", "roles", "scout", "seat"]`. */
  readonly path: Path;
  /** What was found, and why it cannot work. */
  readonly problem: string;
  /** What to do: the nearest alternative that works. */
  readonly fix?: string;
}

/** The same problems with a longer path. */
export function below(path: Path, problems: readonly Problem[]): readonly Problem[] {
  return problems.map((each) => ({ ...each, path: [...path, ...each.path] }));
}
