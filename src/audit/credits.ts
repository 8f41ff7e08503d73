/** What a run recorded of its candidates that claims to say how good they are, and what other algorithms would say. */
import type { Algorithm, LeftOut } from "../credit/algorithm.ts";
import { algorithmFrom, algorithms } from "../credit/algorithms.ts";
import { TroupeError } from "../errors.ts";
import type { ActionReward } from "../environments/environment.ts";
import type { Action, Episode, RewardedAction } from "../rollout/episode.ts";
import type { StoredEpisode } from "../rollout/stored.ts";
import { occurrencesOf } from "../rollout/navigate.ts";
import { mean } from "../statistics.ts";
import { rescore } from "../train/replay.ts";

/** Something that gives candidates numbers. */
export interface Credit {
  readonly name: string;
  readonly kind: "advantage" | "judge" | "reward" | "continuations";
  /** Null: it gave none, or it depends on a reward that is missing. */
  readonly of: (episode: Episode, action: Action) => number | null;
}

export interface Credits {
  readonly credits: readonly Credit[];
  /** Algorithms that cannot be computed from the record, and why. */
  readonly omitted: readonly { readonly name: string; readonly reason: string }[];
}

/**
 * @param stored all recorded episodes of the step, which some algorithms compare
 * @param own the run's algorithm, whose recorded advantages are used
 * @param judge the name of the run's judge; undefined: it had none
 */
export async function creditsOf(
  stored: readonly StoredEpisode[],
  own: Algorithm,
  judge: string | undefined,
): Promise<Credits> {
  const others = Object.keys(algorithms).filter((name) => name !== own.name);
  const computed = await Promise.all(others.map((name) => computedCredit(stored, name)));
  const found = [
    recordedAdvantages(stored, own.name),
    ...computed.filter((one) => "of" in one),
    ...(judge === undefined ? [] : [verdicts(judge)]),
    rewardCredit("reward", ({ reward }) => reward, own),
    ...(judge === undefined
      ? []
      : [rewardCredit("environment's reward", ({ environmentReward }) => environmentReward ?? null, own)]),
  ];
  return { credits: found, omitted: computed.filter((one) => "reason" in one) };
}

function recordedAdvantages(stored: readonly StoredEpisode[], algorithm: string): Credit {
  const recorded = new Map(stored.map(({ episode, credit = [] }) => [episode, advantagesOf(credit)]));
  return {
    name: `${algorithm}, as recorded`,
    kind: "advantage",
    of: (episode, { id }) => recorded.get(episode)?.get(id) ?? null,
  };
}

/** Options without which a row compares no more than the actions that its own way of sampling gives. */
const options: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { c3: { continued: "tree" } };

/** The row with its default options, or those above, applied to the episodes as this run sampled them. */
async function computedCredit(
  stored: readonly StoredEpisode[],
  name: string,
): Promise<Credit | Credits["omitted"][number]> {
  try {
    const credited = await rescore(
      stored.map(({ episode }) => episode),
      { algorithm: algorithmFrom(name, options[name]) },
    );
    const advantages = advantagesOf(credited);
    return { name, kind: "advantage", of: (_, action) => advantages.get(action) ?? null };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return { name, reason: error.message };
  }
}

/** Of the actions that have one. The 0 of an action that is left out says that it is not trained, not what it is worth. */
function advantagesOf<Named>(
  credit: readonly {
    readonly action: Named;
    readonly return: number | null;
    readonly advantage: number;
    readonly leftOut?: LeftOut | undefined;
  }[],
): ReadonlyMap<Named, number> {
  const known = credit.filter((one) => one.return !== null && one.leftOut === undefined);
  return new Map(known.map(({ action, advantage }) => [action, advantage]));
}

function verdicts(judge: string): Credit {
  return fromEdges(judge, "judge", ({ verdict }) =>
    verdict !== undefined && "score" in verdict ? verdict.score : null,
  );
}

function rewardCredit(
  name: string,
  reward: (edge: RewardedAction) => ActionReward | null,
  { score }: Algorithm,
): Credit {
  return fromEdges(name, "reward", (edge) => {
    const given = reward(edge);
    return given === null ? null : score(given);
  });
}

/** An action of several joint actions has several of these: their mean, or none if one is missing. */
function fromEdges(name: string, kind: Credit["kind"], of: (edge: RewardedAction) => number | null): Credit {
  return {
    name,
    kind,
    of: (episode, action) => {
      const edges = occurrencesOf(episode, action).flatMap(({ node }) =>
        node.actions.filter((edge) => edge.action === action.id),
      );
      const numbers = edges.map(of);
      return numbers.includes(null) || numbers.length === 0 ? null : mean(numbers as number[]);
    },
  };
}
