/** Settings that an engine has fixed (`EngineLimits`). */
import { TroupeError } from "../errors.ts";
import type { AdapterOptions } from "../models/adapter-options.ts";
import type { AdamOptions, EngineCapabilities } from "./engine.ts";

/** What of the adapter is not possible, and the nearest that is; null: nothing. */
export function adapterProblem(
  { alpha, targetModules }: Pick<AdapterOptions, "alpha" | "targetModules">,
  { limits }: EngineCapabilities,
): { readonly field: "alpha" | "targetModules"; readonly expected: string } | null {
  const { adapterAlpha, adapterModules } = limits ?? {};
  if (adapterAlpha !== undefined && alpha !== adapterAlpha)
    return { field: "alpha", expected: String(adapterAlpha) };
  const groups = adapterModules ?? [];
  const chosen = groups.filter((group) => group.every((module) => targetModules.includes(module)));
  const isPossible = chosen.flat().length === targetModules.length && chosen.length > 0;
  if (groups.length === 0 || isPossible) return null;
  return { field: "targetModules", expected: groups.map((group) => `[${group.join(", ")}]`).join(", ") };
}

/** @throws TroupeError `unsupported` */
export function checkAdapter(adapter: AdapterOptions, capabilities: EngineCapabilities, title: string): void {
  const problem = adapterProblem(adapter, capabilities);
  if (problem === null) return;
  throw new TroupeError(
    "unsupported",
    `${title} has only adapters whose ${problem.field} is ${problem.expected}.`,
  );
}

/** Fields of the optimizer that have another value than the engine's own. */
export function adamProblems(
  adam: Partial<AdamOptions>,
  { limits }: EngineCapabilities,
): readonly { readonly field: keyof AdamOptions; readonly expected: number }[] {
  const fixed = Object.entries(limits?.adam ?? {}) as [keyof AdamOptions, number][];
  return fixed
    .filter(([field, value]) => adam[field] !== undefined && adam[field] !== value)
    .map(([field, expected]) => ({ field, expected }));
}

/** @throws TroupeError `unsupported` */
export function checkAdam(adam: AdamOptions, capabilities: EngineCapabilities, title: string): void {
  const [problem] = adamProblems(adam, capabilities);
  if (problem === undefined) return;
  throw new TroupeError("unsupported", `${title} has a fixed ${problem.field} of ${problem.expected}.`);
}
