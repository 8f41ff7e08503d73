/** What a recipe may name. Programs may pass a catalog with their own environments or algorithms. */
import type { AlgorithmRow } from "../credit/algorithm.ts";
import { algorithms } from "../credit/algorithms.ts";
import type { EngineKind } from "../engines/kind.ts";
import { engineKinds } from "../engines/open.ts";
import type { EnvironmentDefinition } from "../environments/environment.ts";
import { environments } from "../environments/registry.ts";
import type { JudgeDefinition } from "../judges/judge.ts";
import { judges } from "../judges/judges.ts";
import { presets } from "../models/presets.ts";

export interface Catalog {
  readonly environments: Readonly<Record<string, EnvironmentDefinition<unknown>>>;
  readonly algorithms: Readonly<Record<string, AlgorithmRow>>;
  readonly judges: Readonly<Record<string, JudgeDefinition>>;
  /** Presets of `policies.*.model.preset`. */
  readonly presets: readonly string[];
  /** By type. */
  readonly engines: Readonly<Record<string, EngineKind>>;
}

export const builtInCatalog: Catalog = {
  environments: Object.fromEntries(environments.map((definition) => [definition.name, definition])),
  algorithms,
  judges,
  presets: Object.keys(presets),
  engines: engineKinds,
};

/** @param judge the recipe's, as written or resolved; undefined if it names no known judge */
export function judgeRow(
  judge: unknown,
  known: Readonly<Record<string, JudgeDefinition>> = judges,
): JudgeDefinition | undefined {
  const name = typeof judge === "object" && judge !== null && "name" in judge ? judge.name : undefined;
  return typeof name === "string" && Object.hasOwn(known, name) ? known[name] : undefined;
}

/** The judge's options that do not affect its verdicts. */
export function incidentalOptions(judge: unknown): ReadonlySet<string> {
  return new Set(judgeRow(judge)?.incidental);
}
