/** How many cells at once this machine holds, and how many threads each gets. */
import { availableParallelism } from "node:os";
import { presets } from "../models/presets.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Cell } from "./grid.ts";

export interface Share {
  readonly jobs: number;
  readonly threads: number;
}

/** What Node, the records and the engine's buffers of small batches take besides the weights, in bytes. */
const aroundWeights = 400e6;

/**
 * One cell per core, one thread each: small models gain more from a second run than from a second thread. Fewer where the
 * memory would not hold them. What the user asks for is taken as asked.
 */
export function shareOf(cells: readonly Cell[], asked: number | undefined): Share {
  const cores = availableParallelism();
  const largest = Math.max(aroundWeights, ...cells.map(memoryOf));
  const held = Math.max(1, Math.floor((0.9 * process.availableMemory()) / largest));
  const jobs = asked ?? Math.min(cores, held);
  return { jobs, threads: Math.max(1, Math.floor(cores / jobs)) };
}

/** What the cells take that run at once, in bytes: as many of the largest. */
export function memoryAtOnce(cells: readonly Cell[], jobs: number): number {
  return Math.min(jobs, cells.length) * Math.max(0, ...cells.map(memoryOf));
}

/** Roughly: weights, gradients and both moments in float32, a copy in bfloat16, and what stands around them. */
function memoryOf(cell: Cell): number {
  const { recipe } = cell.kind === "train" ? cell : cell.run;
  const parameters = Object.values(recipe.policies).map(({ model }) => parametersOf(model));
  return aroundWeights + 18 * parameters.reduce((sum, each) => sum + each, 0);
}

/** The layers of a preset. A model directory tells its size when it is loaded, and the engine refuses what cannot fit. */
function parametersOf(model: Recipe["policies"][string]["model"]): number {
  if (!("preset" in model)) return 0;
  const preset = Object.entries(presets).find(([name]) => name === model.preset)?.[1];
  if (preset === undefined) return 0;
  const { hiddenSize, layers, heads, keyValueHeads, headSize, intermediateSize } = preset;
  const attention = 2 * hiddenSize * headSize * (heads + keyValueHeads);
  return layers * (attention + 3 * hiddenSize * intermediateSize);
}
