/** What a recipe may name. Somebody's own environment or algorithm joins by a catalog of their own. */
import type { z } from "zod";
import type { Algorithm } from "../credit/algorithm.ts";
import type { EngineCapabilities } from "../engines/engine.ts";
import type { EnvironmentDefinition } from "../environments/environment.ts";

/** An algorithm's entry: its options, checked, make a row. */
export interface AlgorithmEntry {
  readonly options: z.ZodType;
  create(options: unknown): Algorithm;
}

export interface Catalog {
  readonly environments: Readonly<Record<string, EnvironmentDefinition<unknown>>>;
  readonly algorithms: Readonly<Record<string, AlgorithmEntry>>;
  /** Presets of `policies.*.model.preset`. */
  readonly presets: readonly string[];
  /** What each engine type can do. */
  readonly engines: Readonly<Record<string, EngineCapabilities>>;
}
