import { z } from "zod";
import { meanBaseline } from "../baselines/mean.ts";
import { nodeGrouping } from "../groups/node.ts";
import { ppoClip } from "../objectives/ppo-clip.ts";
import { withEntropy } from "../objectives/with-entropy.ts";
import { withKl } from "../objectives/with-kl.ts";
import { immediateReturn } from "../returns/immediate.ts";
import { noScale } from "../scales/none.ts";
import { standardDeviation } from "../scales/standard-deviation.ts";
import { mixedScore } from "../score.ts";
import * as option from "./options.ts";
import { plain, row } from "./row.ts";

export const atGrpo = row(
  "AT-GRPO, arXiv 2510.11062, algorithm 1",
  "each role samples K actions from one state, the best is kept; compared by task, role and turn",
  z.strictObject({
    samples: option.samples(2),
    alpha: option.alpha,
    keep: z.enum(["best", "first", "random"]).default("best").describe("Which of the K actions is kept."),
    standardise: option.standardise,
    ...option.clip(),
    aggregation: option.aggregation("token-mean"),
    ...option.klOption("none", "k3"),
    ...option.entropy,
    ...option.truncated,
    ...option.dynamicSampling,
    ...option.overlong,
    ...option.shaping,
  }),
  (options) => {
    const kl = option.klTerm(options.kl);
    return {
      ...plain,
      sampling: { branch: { root: options.samples, inner: options.samples }, keep: options.keep },
      score: mixedScore(options.alpha),
      shaping: option.shapingOf(options),
      overlong: option.overlongTerm(options.overlong),
      returns: immediateReturn,
      grouping: nodeGrouping,
      baseline: meanBaseline,
      scale: options.standardise ? standardDeviation : noScale,
      objective: withKl(withEntropy(ppoClip(options, options.aggregation), options.entropy), kl),
      kl,
      selection: option.selection(options),
    };
  },
);
