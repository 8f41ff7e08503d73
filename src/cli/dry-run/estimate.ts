/** The whole of a recipe in actions, tokens and seconds. */
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import type { NamedTeam } from "../../train/teams.ts";
import type { Calibration } from "./calibrate.ts";
import type { Work } from "./plan.ts";
import { add, episodeWork, evaluationWork, noWork, times } from "./plan.ts";

export interface StageEstimate {
  readonly actions: number;
  /** Prompts counted once per group, and what is written. */
  readonly promptTokens: number;
  readonly actionTokens: number;
  readonly seconds: number;
}

export interface Estimate {
  readonly warmStart: StageEstimate;
  readonly reinforcement: StageEstimate;
  readonly evaluation: StageEstimate;
}

export function estimate(
  { recipe, algorithm }: ResolvedRecipe,
  teams: readonly NamedTeam[],
  calibration: Calibration,
): Estimate {
  const { warmStart, train } = recipe;
  const lessons =
    (warmStart?.steps ?? 0) * (warmStart?.demonstrationsPerStep ?? 0) * calibration.examplesPerTask;
  const own = teams[0];
  const episodes = own === undefined ? noWork : episodeWork(own.team, algorithm.sampling);
  const played = times(episodes, train.steps * train.tasksPerStep);
  const evaluated = evaluations(recipe, teams);
  const { supervised, grouped, sampled } = calibration.tokensPerSecond;
  const inTokens = (work: Work) => tokensOf(work, calibration);
  return {
    warmStart: stage(
      { prompts: lessons, actions: lessons },
      calibration,
      (work) => inTokens(work) / supervised,
    ),
    reinforcement: stage(
      played,
      calibration,
      (work) => inTokens(work) * (train.epochs / grouped + 1 / sampled),
    ),
    evaluation: stage(evaluated, calibration, (work) => inTokens(work) / sampled),
  };
}

function stage(work: Work, calibration: Calibration, seconds: (work: Work) => number): StageEstimate {
  return {
    actions: work.actions,
    promptTokens: Math.round(work.prompts * calibration.promptTokens),
    actionTokens: Math.round(work.actions * calibration.actionTokens),
    seconds: seconds(work),
  };
}

function tokensOf(work: Work, { promptTokens, actionTokens }: Calibration): number {
  return work.prompts * promptTokens + work.actions * actionTokens;
}

/** Before: every team; at intervals and after: the trained one. */
function evaluations({ train, evaluation }: ResolvedRecipe["recipe"], teams: readonly NamedTeam[]): Work {
  const { tasks, every, tasksDuring = tasks } = evaluation;
  const own = teams[0] === undefined ? noWork : evaluationWork(teams[0].team);
  const before = teams.map(({ team }) => times(evaluationWork(team), tasks)).reduce(add, noWork);
  const during = every === 0 || train.steps === 0 ? 0 : Math.ceil(train.steps / every) - 1;
  const after = train.steps === 0 ? noWork : times(own, tasks);
  return add(before, add(times(own, during * tasksDuring), after));
}
