/** AT-GRPO with another baseline: samples of one state are compared with their median. */
import { algorithmFrom, row, z } from "troupe";

export default row(
  "AT-GRPO, arXiv 2510.11062, with the median in place of the mean",
  "each role samples K actions from one state; compared with the median of their rewards",
  z.strictObject({ samples: z.int().min(2).default(8).describe("Actions sampled for comparison.") }),
  ({ samples }) => ({ ...algorithmFrom("at-grpo", { samples }), baseline: median }),
);

function median(returns: readonly number[]): readonly number[] {
  const sorted = returns.toSorted((left, right) => left - right);
  const half = sorted.length / 2;
  const low = sorted[Math.ceil(half) - 1] ?? 0;
  const high = sorted[Math.floor(half)] ?? 0;
  return returns.map(() => (low + high) / 2);
}
