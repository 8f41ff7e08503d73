/** The settings of a LoRA adapter. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";

export interface AdapterOptions {
  readonly rank: number;
  readonly alpha: number;
  /** Projections that get an adapter: some of `projections`, or of those that a model fuses. */
  readonly targetModules: readonly string[];
  /** Seed of the A matrices; B starts at zero. */
  readonly seed: number;
}

/** Types alone: `checkAdapterOptions` checks ranges. A recipe's section has its own limits and defaults. */
export const adapterSchema = z.object({
  rank: z.number("expected a number"),
  alpha: z.number("expected a number"),
  targetModules: z.array(z.string(), 'expected an array of projections, such as ["q_proj", "v_proj"]'),
  seed: z.number("expected a number"),
});

/** Modules that can have an adapter. */
export const projections = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;

/** Projections of models that compute several as one, and which these are. */
const fused = { qkv_proj: ["q_proj", "k_proj", "v_proj"], gate_up_proj: ["gate_proj", "up_proj"] } as const;
export const fusedProjections = Object.keys(fused) as (keyof typeof fused)[];

/** The projections by their own names, in order. */
export function partsOf(modules: readonly string[]): string[] {
  return modules.flatMap((module) => fused[module as keyof typeof fused] ?? module).toSorted();
}

/**
 * The modules by the names that the model has for them: one that it computes as a part of another stands for it
 * together with the other parts. @throws TroupeError `bad_arguments` if some of the parts are missing
 */
export function modulesOf(
  tensors: readonly { name: string }[],
  modules: readonly string[],
): readonly string[] {
  const has = (module: string) => tensors.some(({ name }) => name.endsWith(`.${module}.weight`));
  let found = modules;
  for (const whole of fusedProjections) {
    const parts: readonly string[] = fused[whole];
    const asked = parts.filter((part) => found.includes(part));
    if (asked.length === 0 || !has(whole)) continue;
    if (asked.length < parts.length)
      throw invalid(
        `targetModules has ${asked.join(" and ")}, but the model computes ${parts.join(", ")} as one; name ${whole}, or all of them`,
      );
    found = [...found.filter((module) => !parts.includes(module) && module !== whole), whole];
  }
  return found;
}

/** Checks the ranges that recipes allow. @throws TroupeError `bad_arguments` */
export function checkAdapterOptions(options: AdapterOptions): void {
  const { rank, alpha, seed, targetModules } = options;
  if (!Number.isSafeInteger(rank) || rank < 1)
    throw invalid(`rank ${rank} must be a whole number of at least 1`);
  if (!(alpha > 0) || !Number.isFinite(alpha)) throw invalid(`alpha ${alpha} must be a positive number`);
  if (!Array.isArray(targetModules) || new Set(targetModules).size !== targetModules.length)
    throw invalid("targetModules must be a list of projections, each once");
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw invalid(`seed ${seed} must be a whole number of at least 0`);
}

function invalid(what: string): TroupeError {
  return new TroupeError("bad_arguments", `The adapter's ${what}.`);
}
