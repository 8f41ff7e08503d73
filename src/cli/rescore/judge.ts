/** The judge of `troupe rescore`: the run's own or another, with the verdicts recorded in the run. */
import { TroupeError } from "../../errors.ts";
import { judgeOf, resolveRecipe, type ResolvedRecipe } from "../../recipes/resolve.ts";
import { momentOf } from "../../rollout/judging.ts";
import { layoutOf } from "../../runs/layout.ts";
import { acquireLock } from "../../runs/lock.ts";
import { openRecordedCalls } from "../../runs/recorded-calls.ts";
import { buildTeam } from "../../teams/build.ts";
import type { ScoreStatistics } from "../../judges/normalise.ts";
import { retriesOf } from "../../train/failures.ts";
import { normaliserOf, type Normalise } from "../../train/judging.ts";
import type { RescoringJudge } from "../../train/replay.ts";

export interface OpenedJudge extends AsyncDisposable {
  /** @param isTraining whether these are training episodes, whose scores may be normalised, in the order of the steps */
  readonly forEpisodes: (isTraining: boolean) => RescoringJudge;
}

/** The run's own judge, instead of settings. */
const ownJudge = "own";

/** Whether `key=value` is an option of the judge. */
export function isOfJudge(change: string): boolean {
  return change.startsWith("judge.");
}

/**
 * Takes the run's lock, so that new verdicts are recorded with those of training. The run's own judge may have lost its
 * program.
 * @param settings `own`, or settings in YAML; undefined: no judge, or `own` if there are changes
 * @throws TroupeError `in_use` if a process is writing the run, `bad_arguments` if it has no judge of its own
 */
export async function judgeFor(
  directory: string,
  { recipe, environment }: Pick<ResolvedRecipe, "recipe" | "environment">,
  settings: string | undefined,
  changes: readonly string[],
): Promise<OpenedJudge | undefined> {
  const options = changes.filter(isOfJudge);
  if (settings === undefined && options.length === 0) return undefined;
  const { recipe: file, verdicts } = layoutOf(directory);
  const given = settings === undefined || settings === ownJudge ? [] : ["judge=null", `judge=${settings}`];
  const judge = await judgeOf(file, [...given, ...options]);
  if (judge === undefined) {
    const fix = "give its settings, `--judge '{name: command, run: [node, judge.ts]}'`";
    throw new TroupeError("bad_arguments", `the run has no judge of its own; ${fix}`);
  }
  const { algorithm } = await resolveRecipe(file, ["judge=null"]);
  const wasAskedAtOnce = momentOf(judge, algorithm.sampling) === "action";
  const lock = await acquireLock(directory);
  const calls = await openRecordedCalls(verdicts);
  const opened = judge.open({
    environment,
    team: buildTeam(recipe.team, environment),
    calls,
    retries: retriesOf(recipe),
  });
  const normalised = normalisedBy(normaliserOf(judge, { environment, retries: retriesOf(recipe) }));
  return {
    forEpisodes: (isTraining) => ({
      judge: opened,
      use: judge,
      knowsEnds: !wasAskedAtOnce,
      ...(isTraining && normalised !== null ? { normalised } : {}),
    }),
    [Symbol.asyncDispose]: async () => {
      await opened.close();
      await lock.release();
    },
  };
}

/** Remembers the scores of earlier steps, as a training does. */
function normalisedBy(normalise: Normalise | null): RescoringJudge["normalised"] | null {
  if (normalise === null) return null;
  let before: ScoreStatistics = {};
  return async (episodes) => {
    const { episodes: scaled, statistics } = await normalise(episodes, before);
    before = statistics;
    return scaled;
  };
}
