/** Which evaluations a run makes after which step, and running them. */
import type { Recipe } from "../recipes/schema.ts";
import { momentOf } from "../rollout/judging.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation, Timing } from "../runs/records.ts";
import { timed } from "../timed.ts";
import { endedIn } from "./ended.ts";
import { evaluatePolicies, type EvaluationSetting } from "./evaluate.ts";
import { limitsOf, retriesOf, timesOf } from "./failures.ts";
import type { RecordedJudge } from "./judging.ts";
import { evaluationEpisodes, keepBest, recordEvaluation, sampleEpisodes } from "./recorder.ts";
import type { Run } from "./state.ts";
import type { NamedTeam, NamedTeams } from "./teams.ts";

interface Plan {
  readonly moment: Evaluation["moment"];
  readonly tasks: number;
  readonly teams: readonly NamedTeam[];
}

/** What is evaluated after a step, counted over both stages; null: nothing. @param teams the trained team first */
export function evaluationAfter(
  recipe: Pick<Recipe, "warmStart" | "train" | "evaluation">,
  teams: NamedTeams,
  step: number,
): Plan | null {
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const { every, tasks, tasksDuring } = recipe.evaluation;
  const stageStep = step - warmSteps;
  const own = teams.slice(0, 1);
  if (stageStep === 0) return { moment: recipe.train.steps === 0 ? "after" : "before", tasks, teams };
  if (stageStep === recipe.train.steps) return { moment: "after", tasks, teams: own };
  const isDue = stageStep > 0 && every > 0 && stageStep % every === 0;
  return isDue ? { moment: "during", tasks: tasksDuring ?? tasks, teams: own } : null;
}

/**
 * Makes the evaluations due after the last step, except recorded ones. Evaluations change nothing, so stopping ends them
 * at once; returns whether all were made.
 */
export async function evaluateIfDue(run: Run): Promise<boolean> {
  const { recipe, stage, folder, step, interrupts } = run;
  const recorded = await folder.evaluations();
  const plan = evaluationAfter(recipe, stage.teams, step);
  if (plan === null) return true;
  const done = new Set(recorded.filter((one) => one.step === step).map(({ team }) => team));
  for (const named of plan.teams.filter(({ name }) => !done.has(name))) {
    try {
      await evaluateTeam(run, plan, named);
    } catch (error) {
      if (interrupts.isStopped && interrupts.isCause(error)) return false;
      throw error;
    }
  }
  await keepBest(run);
  return true;
}

async function evaluateTeam(run: Run, { moment, tasks }: Plan, named: NamedTeam): Promise<void> {
  const { recipe, step, interrupts, emit } = run;
  const { name: team } = named;
  const { samples, passAt } = recipe.evaluation;
  emit({ type: "evaluation-started", team, moment, tasks: tasks * samples });
  const setting: EvaluationSetting = {
    ...settingOf(run, named),
    tasks,
    samples,
    passAt,
    name: `evaluation/${step}/${team}`,
    onEpisode: evaluationEpisodes(run, { moment, team }),
    judging: judgeOf(run),
    ended: endedIn(run, step + 1, run.lineage),
    onProgress: (done, found) => emit({ type: "evaluation-progress", team, done, tasks: found }),
  };
  const { value, seconds } = await timed(() => interrupts.read(evaluatePolicies(setting)));
  const place = { schema_version: schemaVersion, step } as const;
  const evaluation: Evaluation = { ...place, moment, team, ...value.scores };
  const timing: Timing = {
    ...place,
    what: "evaluation",
    team,
    episodes: value.episodes.length,
    seconds,
    ...timesOf(value.services),
  };
  await recordEvaluation(run, evaluation, timing, value.episodes);
}

/** How a team is evaluated, whichever tasks it plays. */
function settingOf(
  { recipe, environment, services, engine, stage: { policies }, interrupts }: Run,
  { team }: NamedTeam,
): Omit<EvaluationSetting, "tasks"> {
  const { split, temperature, topP } = recipe.evaluation;
  const limits = { ...limitsOf(recipe), retries: retriesOf(recipe), failureLimit: recipe.failures.limit };
  const signal = interrupts.reading;
  return { environment, services, engine, policies, team, split, temperature, topP, ...limits, signal };
}

/** Null: evaluations are not judged. */
function judgeOf({ judge, algorithm, verdicts: calls, emit }: Run): RecordedJudge | null {
  if (judge?.evaluation !== true) return null;
  const report = (notice: string) => emit({ type: "judge-paused", notice });
  return { judge, moment: momentOf(judge, algorithm.sampling), calls, report };
}

/**
 * Before the first step of the warm start, and early in it, the team as it is plays one evaluation task for people who
 * watch. Nothing is recorded, and nothing changes.
 */
export async function previewIfDue(run: Run): Promise<void> {
  const { recipe, environment, stage, step, interrupts, emit } = run;
  const warmSteps = recipe.warmStart?.steps ?? 0;
  const isDue = warmSteps > 0 && (step === 0 || step === Math.ceil(warmSteps / 6));
  if (!run.previews || !isDue) return;
  const setting = { ...settingOf(run, stage.teams[0]), tasks: 1 };
  const { episodes } = await interrupts.read(evaluatePolicies(setting));
  emit({ type: "preview", step, episodes: sampleEpisodes(environment, episodes) });
}
