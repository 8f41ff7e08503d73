/** Which evaluations a run makes after which step, and running them. */
import type { Environment, Services } from "../environments/environment.ts";
import type { Engine } from "../engines/engine.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation, Timing } from "../runs/records.ts";
import { evaluatePolicies, type EvaluationSetting } from "./evaluate.ts";
import type { Listener } from "./events.ts";
import { retriesOf } from "./failures.ts";
import type { RecordedJudge } from "./judging.ts";
import type { Interrupts } from "./interrupts.ts";
import { limitsOf } from "./limits.ts";
import type { Recorder } from "./recorder.ts";
import type { NamedTeam, NamedTeams } from "./teams.ts";
import { timesOf } from "./service-use.ts";
import { timed } from "./timed.ts";

interface Plan {
  readonly moment: Evaluation["moment"];
  readonly tasks: number;
  readonly teams: readonly NamedTeam[];
}

/** What a run's evaluations need. */
export interface Evaluations {
  readonly recipe: Pick<Recipe, "warmStart" | "train" | "rollout" | "evaluation" | "failures">;
  readonly environment: Environment;
  readonly services: Services;
  readonly engine: Pick<Engine, "sample">;
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  /** The trained team first. */
  readonly teams: NamedTeams;
  /** Null: evaluations are not judged. */
  readonly judging: RecordedJudge | null;
  readonly emit: Listener;
  readonly recorder: Pick<Recorder, "evaluation" | "evaluationEpisodes">;
}

/** What is evaluated after a step, counted over both stages; null: nothing. */
export function evaluationAfter(
  { recipe, teams }: Pick<Evaluations, "recipe" | "teams">,
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
 * Runs the evaluations due after a step, except recorded ones. Evaluations change nothing, so stopping ends them at once;
 * returns whether all were made.
 */
export async function evaluateAfter(
  evaluations: Evaluations,
  recorded: readonly Evaluation[],
  step: number,
  interrupts: Interrupts,
): Promise<boolean> {
  const plan = evaluationAfter(evaluations, step);
  if (plan === null) return true;
  const done = new Set(recorded.filter((one) => one.step === step).map(({ team }) => team));
  for (const named of plan.teams.filter(({ name }) => !done.has(name))) {
    try {
      await evaluateTeam(evaluations, step, plan, named, interrupts);
    } catch (error) {
      if (interrupts.isStopped && interrupts.isCause(error)) return false;
      throw error;
    }
  }
  return true;
}

async function evaluateTeam(
  evaluations: Evaluations,
  step: number,
  plan: Plan,
  named: NamedTeam,
  interrupts: Interrupts,
): Promise<void> {
  const { recipe, emit, recorder } = evaluations;
  const [{ moment, tasks }, { name }] = [plan, named];
  emit({ type: "evaluation-started", team: name, moment, tasks: tasks * recipe.evaluation.samples });
  const { value, seconds } = await timed(() =>
    interrupts.read(
      evaluatePolicies({ ...settingOf(evaluations, step, plan, named), signal: interrupts.reading }),
    ),
  );
  const place = { schema_version: schemaVersion, step } as const;
  const evaluation: Evaluation = { ...place, moment, team: name, ...value.scores };
  const timing: Timing = {
    ...place,
    what: "evaluation",
    team: name,
    episodes: value.episodes.length,
    seconds,
    ...timesOf(value.services),
  };
  await recorder.evaluation(evaluation, timing, value.episodes);
}

type Played = Pick<Evaluations, "recipe" | "environment" | "services" | "engine" | "policies">;

/** How a team is evaluated, whichever tasks it plays. */
function playSetting(
  { recipe, environment, services, engine, policies }: Played,
  { team }: NamedTeam,
): Omit<EvaluationSetting, "tasks"> {
  const { split, temperature, topP } = recipe.evaluation;
  const limits = { ...limitsOf(recipe), retries: retriesOf(recipe), failureLimit: recipe.failures.limit };
  return { environment, services, engine, policies, team, split, temperature, topP, ...limits };
}

/** One episode of the first evaluation task. */
export function previewSetting(played: Played & Pick<Evaluations, "teams">): EvaluationSetting {
  return { ...playSetting(played, played.teams[0]), tasks: 1 };
}

function settingOf(
  evaluations: Evaluations,
  step: number,
  { moment, tasks }: Plan,
  named: NamedTeam,
): EvaluationSetting {
  const { recipe, policies, judging, emit, recorder } = evaluations;
  const { name } = named;
  const { samples, passAt } = recipe.evaluation;
  return {
    ...playSetting(evaluations, named),
    tasks,
    samples,
    passAt,
    name: `evaluation/${step}/${name}`,
    onEpisode: recorder.evaluationEpisodes({ step, evaluation: { moment, team: name } }, policies),
    judging,
    onProgress: (done, found) => emit({ type: "evaluation-progress", team: name, done, tasks: found }),
  };
}
