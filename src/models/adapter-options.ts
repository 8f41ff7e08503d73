/** The settings of a LoRA adapter. */
import { z } from "zod";
import { TroupeError } from "../errors.ts";

export interface AdapterOptions {
  readonly rank: number;
  readonly alpha: number;
  /** Projections that get an adapter: q_proj k_proj v_proj o_proj gate_proj up_proj down_proj. */
  readonly targetModules: readonly string[];
  /** Seed of the A matrices; B starts at zero. */
  readonly seed: number;
}

/** Types alone: `checkAdapterOptions` checks ranges. A recipe's section has its own limits and defaults. */
export const adapterSchema = z.object({
  rank: z.number(),
  alpha: z.number(),
  targetModules: z.array(z.string()),
  seed: z.number(),
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
