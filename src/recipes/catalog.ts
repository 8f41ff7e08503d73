/** What a recipe may name. Programs may pass a catalog with their own environments or algorithms. */
import type { AlgorithmRow } from "../credit/algorithms.ts";
import type { EngineCapabilities } from "../engines/engine.ts";
import type { EnvironmentDefinition } from "../environments/environment.ts";
import type { JudgeDefinition } from "../judges/judge.ts";

export interface Catalog {
  readonly environments: Readonly<Record<string, EnvironmentDefinition<unknown>>>;
  readonly algorithms: Readonly<Record<string, AlgorithmRow>>;
  readonly judges: Readonly<Record<string, JudgeDefinition>>;
  /** Presets of `policies.*.model.preset`. */
  readonly presets: readonly string[];
  /** Capabilities of each kind of engine. */
  readonly engines: Readonly<Record<string, EngineCapabilities>>;
}
