/** The true values of decisions' candidates, estimated by playing on from each of them with the same random keys. */
import { keyAt, type Key } from "../random.ts";
import { continueDecision, recordedTip, type RecordedTip } from "../rollout/continue.ts";
import type { Action } from "../rollout/episode.ts";
import { orFailed, type FailedEpisode } from "../rollout/grow.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { limiter, settleAll } from "../settle.ts";
import { differentCandidates, tokensOf, type Decision } from "./decisions.ts";

export interface ValuedDecision extends Decision {
  /** Final scores by candidate and continuation; the n-th of each candidate has the same key. */
  readonly scores: readonly (readonly number[])[];
}

export interface Valued {
  /** Those with at least two continuations that no service failed. */
  readonly decisions: readonly ValuedDecision[];
  /** Continuations, of all candidates. A candidate with the same tokens as another one is not played again. */
  readonly played: number;
  /** Of these, those that a service failed: no score was made up for them. */
  readonly failed: readonly FailedEpisode[];
  /** Continuations left out because the same one of a sibling failed: they would be compared with nothing. */
  readonly unpaired: number;
}

/** Played at the same time, if the recipe does not say: enough to fill an engine's batches. */
const mostAtOnce = 256;

/**
 * @param continuations of each candidate
 * @param onProgress called with the number of continuations played so far
 * @throws TroupeError as the sampler
 */
export async function valuesOf(
  setting: RolloutSetting,
  decisions: readonly Decision[],
  continuations: number,
  key: Key,
  onProgress: (done: number) => void = () => {},
): Promise<Valued> {
  const limit = limiter(setting.concurrency ?? mostAtOnce);
  let done = 0;
  const limited = async <Value>(play: () => Promise<Value>): Promise<Value> => {
    const played = await limit(play);
    done += 1;
    onProgress(done);
    return played;
  };
  const valued = await settleAll(
    decisions.map(async (decision) => {
      const tip = await recordedTip(setting, decision.episode, decision.node);
      return continued(setting, tip, decision, continuations, key, limited);
    }),
  );
  return {
    decisions: valued.flatMap(({ decision }) => ((decision.scores[0]?.length ?? 0) < 2 ? [] : [decision])),
    played: valued.reduce((total, { played }) => total + played, 0),
    failed: valued.flatMap(({ failed }) => failed),
    unpaired: valued.reduce((total, { unpaired }) => total + unpaired, 0),
  };
}

type Played = number | FailedEpisode;

interface Continued extends Omit<Valued, "decisions"> {
  readonly decision: ValuedDecision;
}

async function continued(
  setting: RolloutSetting,
  tip: RecordedTip,
  decision: Decision,
  continuations: number,
  key: Key,
  limited: <Value>(play: () => Promise<Value>) => Promise<Value>,
): Promise<Continued> {
  const { episode, node, role, candidates } = decision;
  // Not the candidate's number: all candidates have the same keys.
  const path = (n: number) => [...episode.path, node.id, role, n];
  const play = (action: Action, n: number) =>
    limited(() =>
      orFailed(
        { path: path(n) },
        async () => (await continueDecision(setting, keyAt(key, ...path(n)), tip, action)).score,
      ),
    );
  const different = differentCandidates(decision);
  const played = await settleAll(
    different.map((action) => settleAll(Array.from({ length: continuations }, (_, n) => play(action, n)))),
  );
  const complete = Array.from({ length: continuations }, (_, n) => n).filter((n) =>
    played.every((own) => isScore(own[n])),
  );
  const scores = new Map(
    different.map((action, index) => [tokensOf(action), complete.map((n) => played[index]?.[n] as number)]),
  );
  const failed = played.flat().filter((one) => typeof one !== "number");
  return {
    decision: { ...decision, scores: candidates.map((action) => scores.get(tokensOf(action)) ?? []) },
    played: different.length * continuations,
    failed,
    unpaired: different.length * (continuations - complete.length) - failed.length,
  };
}

function isScore(played: Played | undefined): boolean {
  return typeof played === "number";
}
