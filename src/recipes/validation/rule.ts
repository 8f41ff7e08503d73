/** What a rule sees, and what it answers. */
import type { Algorithm } from "../../credit/algorithm.ts";
import type { AlgorithmRow } from "../../credit/algorithms.ts";
import type { EngineCapabilities } from "../../engines/engine.ts";
import type { Environment } from "../../environments/environment.ts";
import type { Recipe } from "../schema.ts";
import type { Problem } from "./problem.ts";

/** A recipe whose single values are right, with what its names stand for. */
export interface Combination {
  readonly recipe: Recipe;
  readonly environment: Environment;
  readonly algorithm: Algorithm;
}

export interface Subject extends Combination {
  /** Where the algorithm's options come from; absent: not from a row that comes with Troupe. */
  readonly row: AlgorithmRow | undefined;
  readonly presets: readonly string[];
  /** What the recipe's engine supports; absent: not checked. */
  readonly engine: EngineCapabilities | undefined;
}

export type Rule = (subject: Subject) => readonly Problem[];
