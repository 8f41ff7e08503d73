/** Which evaluations a run makes after which step, and making them. */
import { TroupeError } from "../errors.ts";
import type { Run } from "../runs/run.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation } from "../runs/records.ts";
import { sampleEpisode } from "./episode-records.ts";
import { evaluatePolicies } from "./evaluate.ts";
import { retriesOf } from "./failures.ts";
import type { Session } from "./session.ts";
import { timed } from "./session.ts";
import type { NamedTeam } from "./teams.ts";

interface Plan {
  readonly moment: Evaluation["moment"];
  readonly tasks: number;
  readonly teams: readonly NamedTeam[];
}

/** Sample episodes shown of each evaluation. */
const samples = 2;

/** What is evaluated after a step, counted over both stages; null: nothing. */
export function evaluationAfter(
  { recipe, teams }: Pick<Session, "recipe" | "teams">,
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
 * Makes the evaluations due after a step, except those that the run has recorded already. Nothing is changed by an
 * evaluation, so `stop` ends it at once: the answer is whether all were made.
 */
export async function evaluateAfter(
  session: Session,
  run: Run,
  step: number,
  stop: AbortSignal | undefined,
): Promise<boolean> {
  const plan = evaluationAfter(session, step);
  if (plan === null) return true;
  const recorded = (await run.evaluations()).filter((evaluation) => evaluation.step === step);
  for (const named of plan.teams) {
    if (recorded.some(({ team }) => team === named.name)) continue;
    try {
      await evaluateTeam(session, run, step, plan, named, stop);
    } catch (error) {
      if (stop?.aborted === true && error instanceof TroupeError && error.code === "cancelled") return false;
      throw error;
    }
  }
  return true;
}

async function evaluateTeam(
  session: Session,
  run: Run,
  step: number,
  { moment, tasks }: Plan,
  { name, team }: NamedTeam,
  stop: AbortSignal | undefined,
): Promise<void> {
  const { recipe, emit, environment } = session;
  emit({ type: "evaluation-started", team: name, moment, tasks });
  const { value, seconds } = await timed(() =>
    evaluatePolicies({
      ...session,
      team,
      tasks,
      split: recipe.evaluation.split,
      retries: retriesOf(recipe),
      failureLimit: recipe.failures.limit,
      temperature: recipe.evaluation.temperature,
      topP: recipe.evaluation.topP,
      onProgress: (done, found) => emit({ type: "evaluation-progress", team: name, done, tasks: found }),
      signal: AbortSignal.any([stop, session.cancel].filter((signal) => signal !== undefined)),
    }),
  );
  const place = { schema_version: schemaVersion, step } as const;
  const evaluation: Evaluation = { ...place, moment, team: name, ...value.scores };
  const timing = { ...place, what: "evaluation", seconds } as const;
  await run.recordEvaluation(evaluation, timing);
  emit({ type: "evaluation", evaluation, timing });
  const shown = value.episodes.slice(0, samples).map((episode) => sampleEpisode(environment, episode));
  emit({ type: "sample-episodes", step, episodes: shown.filter((episode) => episode !== null) });
}
