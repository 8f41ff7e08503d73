/** The figures of an evaluation, from its episodes. */
import { actionsTo } from "../credit/trajectories.ts";
import type { Episode } from "../rollout/episode.ts";
import { nodeOf } from "../rollout/navigate.ts";
import type { Evaluation } from "../runs/records.ts";
import { clusteredInterval, mean, sum, wilsonInterval } from "../statistics.ts";
import type { Team } from "../teams/team.ts";
import { calibrationOf } from "./calibration.ts";
import { judgedActions } from "./judging.ts";
import { passAt } from "./pass-at.ts";
import { termScores } from "./term-scores.ts";

export type Scores = Omit<Evaluation, "schema_version" | "step" | "moment" | "team">;

export interface Scored {
  readonly split: string;
  /** Episodes lost to failing services. */
  readonly failed: number;
  readonly team: Pick<Team, "turns">;
  /** Episodes of each task. Default: 1. */
  readonly samples?: number;
  /** The k of pass@k. */
  readonly passAt?: readonly number[];
}

export function scoresOf(episodes: readonly Episode[], scored: Scored): Scores {
  const { split, failed, team, samples = 1 } = scored;
  const ends = episodes.flatMap((episode) => episode.ends);
  const tasks = byTask(episodes);
  const successes = ends.filter(({ outcome }) => outcome.success);
  const solvedWithin = (turns: number) => successes.filter((end) => end.turns <= turns).length;
  const tokens = episodes.map(tokensOf);
  const terms = termScores(tasks);
  return {
    ...(split === "heldOut" ? {} : { split }),
    tasks: tasks.length,
    ...(samples === 1 ? {} : { samples }),
    successes: successes.length,
    ...(failed === 0 ? {} : { failed }),
    ...(samples > 1 || failed > 0 ? {} : { solved: tasks.map(succeeded).join("") }),
    success: successes.length / ends.length,
    ...(samples === 1 ? wilsonInterval(successes.length, ends.length) : successInterval(tasks)),
    ...passAtOf(tasks, scored),
    score: mean(ends.map(({ outcome }) => outcome.score)),
    ...(terms === null ? {} : { terms }),
    ...verdictsOf(episodes),
    turns: mean(ends.map((end) => end.turns)),
    successByTurn: Array.from({ length: team.turns }, (_, turn) => solvedWithin(turn + 1) / ends.length),
    promptTokens: sum(tokens.map(({ prompt }) => prompt)),
    sampledTokens: sum(tokens.map(({ sampled }) => sampled)),
  };
}

/** Each task's episodes. */
function byTask(episodes: readonly Episode[]): readonly (readonly Episode[])[] {
  return [...Map.groupBy(episodes, ({ task }) => JSON.stringify(task)).values()];
}

function successInterval(tasks: readonly (readonly Episode[])[]): { low: number; high: number } {
  const shares = tasks.map((samples) => succeeded(samples) / samples.length);
  return clusteredInterval(shares, sum(tasks.map((samples) => samples.length)));
}

function succeeded(samples: readonly Episode[]): number {
  return samples.filter(({ ends }) => ends.every(({ outcome }) => outcome.success)).length;
}

/** A task with fewer than k episodes, because services failed, does not count for this k. */
function passAtOf(
  tasks: readonly (readonly Episode[])[],
  { passAt: wanted = [] }: Scored,
): Pick<Scores, "passAt"> {
  const entries = wanted.flatMap((k) => {
    const counted = tasks.filter((samples) => samples.length >= k);
    if (counted.length === 0) return [];
    const values = counted.map((samples) => passAt(k, samples.length, succeeded(samples)));
    const trials = sum(counted.map((samples) => samples.length));
    return [[k, { mean: mean(values), ...clusteredInterval(values, trials) }] as const];
  });
  return entries.length === 0 ? {} : { passAt: Object.fromEntries(entries) };
}

/** Only if a judge was asked. */
function verdictsOf(episodes: readonly Episode[]): Pick<Scores, "judged" | "unjudged" | "calibration"> {
  const verdicts = episodes.flatMap(judgedActions).map(({ verdict }) => verdict);
  const scores = verdicts.flatMap((verdict) => ("score" in verdict ? [verdict.score] : []));
  const unjudged = verdicts.length - scores.length;
  const calibration = calibrationOf(episodes);
  return {
    ...(scores.length === 0 ? {} : { judged: mean(scores) }),
    ...(unjudged === 0 ? {} : { unjudged }),
    ...(calibration === null ? {} : { calibration }),
  };
}

function tokensOf(episode: Episode): { prompt: number; sampled: number } {
  const actions = episode.ends.flatMap(({ node }) => actionsTo(episode, nodeOf(episode, node)));
  return {
    prompt: sum(actions.map(({ action }) => action.prompt.length)),
    sampled: sum(actions.map(({ action }) => action.tokens.length)),
  };
}
