/** GRPO with another baseline: the best sample of a task. */
import { algorithmFrom, row, z } from "troupe";

export default row(
  "GRPO, arXiv 2402.03300, with the best sample as the baseline",
  "samples of a task are compared with the best of them",
  z.strictObject({ samples: z.int().min(2).default(4) }),
  ({ samples }) => ({
    ...algorithmFrom("grpo", { samples }),
    baseline: (returns) => returns.map(() => Math.max(...returns)),
  }),
);
