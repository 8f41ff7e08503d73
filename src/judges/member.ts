/**
 * The judge `member`: a role of the team writes a score, which becomes the verdict on what others did before it (MARTI's
 * judge: a generator, and a frozen model whose score is mixed with the outcome).
 */
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import type { Action, Episode, EpisodeNode, Verdict } from "../rollout/episode.ts";
import { childrenOf, edgesOf, type Occurrence } from "../rollout/navigate.ts";
import { mean } from "../statistics.ts";
import { judgeUse, type GivenVerdict, type Judge, type JudgeContext } from "./judge.ts";

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
  const names = [...team.roles, ...(team.hosted ?? [])].map(({ name }) => name);
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
  // A score in a reply that was cut off may be a quotation.
  const whole = next.filter(({ reply }) => !reply.truncated);
  const scores = whole.flatMap(({ reply }) => scoreIn(reply.text, scale) ?? []);
  if (next.length === 0) return { failure: `${role} has not acted after it` };
  if (whole.length === 0) return { failure: `what ${role} wrote was cut off at its length` };
  if (scores.length === 0) return { failure: `${role} wrote no score from 0 to ${scale} in \\boxed{}` };
  return {
    score: mean(scores),
    explanation: (whole[0] as Action).reply.text.slice(0, longestExplanation).toWellFormed(),
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

/** The content of the last \boxed, as a share of the scale: an earlier one may be a quotation. */
export function scoreIn(text: string, scale: number): number | null {
  const searched = text.slice(-longestSearched);
  const last = searched.slice(Math.max(0, searched.lastIndexOf("\\boxed")));
  const written = /^\\boxed\s*\{([^{}]*)\}/.exec(last)?.[1]?.trim();
  if (written === undefined || !/^\d+(?:\.\d+)?$/.test(written)) return null;
  const score = Number(written) / scale;
  return score <= 1 ? score : null;
}
