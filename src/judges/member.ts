/**
 * The judge `member`: a role of the team writes a score, which becomes the verdict on what others did before it (MARTI's
 * judge: a generator, and a frozen model whose score is mixed with the outcome).
 */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import type { Action, Episode, EpisodeNode, Verdict } from "../rollout/episode.ts";
import { childrenOf, edgesOf, type Occurrence } from "../rollout/navigate.ts";
import { mean } from "../statistics.ts";
import type { GivenVerdict, Judge, JudgeContext } from "./judge.ts";
import { judgeUse } from "./options.ts";

export const memberOptions = z.strictObject({
  role: z
    .string()
    .min(1)
    .describe("The role whose score counts; freeze it, or it is trained on its own rewards."),
  scale: z.number().positive().default(10).describe("The highest score that the role may write."),
  ...judgeUse,
});

export type MemberOptions = z.output<typeof memberOptions>;

/** @throws TroupeError `bad_recipe` if the team has no such role */
export function memberJudge(options: MemberOptions, { team }: Pick<JudgeContext, "team">): Judge {
  const names = team.roles.map(({ name }) => name);
  if (!names.includes(options.role))
    throw new TroupeError(
      "bad_recipe",
      `judge.role: the team has no role ${options.role}; its roles are ${names.join(", ")}`,
    );
  return {
    judge: async (episode, asked) => asked.map((occurrence) => verdictOn(options, episode, occurrence)),
    // It asks nobody: a resumed run finds the same scores in the same episodes.
    settle: async () => {},
    close: async () => {},
  };
}

function verdictOn(options: MemberOptions, episode: Episode, { node, action }: Occurrence): GivenVerdict {
  return { node: node.id, action: action.id, verdict: verdictAfter(options, episode, node) };
}

/** The mean of the next scores on all branches that follow the node. */
function verdictAfter({ role, scale }: MemberOptions, episode: Episode, node: EpisodeNode): Verdict {
  const next = nextActions(episode, node, role);
  const scores = next.flatMap(({ reply }) => scoreIn(reply.text, scale) ?? []);
  if (next.length === 0) return { failure: `${role} has not acted after it` };
  if (scores.length === 0) return { failure: `${role} wrote no score from 0 to ${scale} in \\boxed{}` };
  return {
    score: mean(scores),
    explanation: (next[0] as Action).reply.text.slice(0, longestExplanation).toWellFormed(),
  };
}

const longestExplanation = 2000;

function nextActions(episode: Episode, node: EpisodeNode, role: string): readonly Action[] {
  return childrenOf(episode, node).flatMap((child) => {
    const own = edgesOf(episode, child).flatMap(({ action }) => (action.role === role ? [action] : []));
    return own.length > 0 ? own : nextActions(episode, child, role);
  });
}

const longestSearched = 4000;

/** The last one in \boxed{}, as a share of the scale. */
export function scoreIn(text: string, scale: number): number | null {
  const written = [...text.slice(-longestSearched).matchAll(/\\boxed\s*\{([^{}]*)\}/g)].at(-1)?.[1]?.trim();
  if (written === undefined || !/^\d+(?:\.\d+)?$/.test(written)) return null;
  const score = Number(written) / scale;
  return score <= 1 ? score : null;
}
