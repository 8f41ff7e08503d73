/** Options that every judge has. */
import { z } from "zod";

export const judgeUse = {
  fills: z
    .enum(["missing", "all"])
    .default("missing")
    .describe(
      "missing: judge the actions that the environment left without a reward. all: replace every reward.",
    ),
  as: z
    .enum(["team", "local"])
    .default("team")
    .describe("The part of the reward that the score, from 0 to 1, becomes; the other part is 0."),
  evaluation: z
    .boolean()
    .default(false)
    .describe(
      "Judge evaluations, too, and record the mean score. Success always comes from the environment's outcome.",
    ),
};
