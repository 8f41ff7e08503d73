/** Options of every judge. */
import { z } from "zod";
import type { JudgeUse } from "./judge.ts";

export const judgeUse = {
  fills: z
    .enum(["missing", "all"])
    .default("missing")
    .describe("missing: judge actions without a reward. all: replace every reward."),
  as: z
    .enum(["team", "local"])
    .default("team")
    .describe("The reward that the score, from 0 to 1, becomes; the other is 0."),
  when: z
    .enum(["action", "episode"])
    .optional()
    .describe(
      "action: judged before the episode continues. episode: once its outcome is known. Absent: episode, unless rewards or comments are needed earlier.",
    ),
  outcomeWeight: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      "w in (1 − w)·score + w·outcome: the mean score of the ends that the action leads to. Absent: 0.",
    ),
  normalise: z
    .enum(["role", "task type", "both"])
    .optional()
    .describe("Gives the scores of each role or type of task the same mean and deviation. Absent: neither."),
  comments: z
    .boolean()
    .optional()
    .describe("Show explanations to the roles that act next, in training only. Absent: false."),
  evaluation: z
    .boolean()
    .default(false)
    .describe("Also judge evaluations and record the mean score; success always comes from the outcome."),
};

type UseOptions = z.output<z.ZodObject<typeof judgeUse>>;

/** What `JudgeDefinition.create` copies from a judge's options. */
export function useOf({
  fills,
  as,
  when,
  outcomeWeight,
  normalise,
  comments,
  evaluation,
}: UseOptions): JudgeUse & { readonly evaluation: boolean } {
  return { fills, as, when, outcomeWeight, normalise, comments, evaluation };
}
