/** One step of reinforcement: roll out, give credit, update. Blind to the algorithm, which is a row of functions. */
import type { CreditedAction } from "../credit/algorithm.ts";
import { credit } from "../credit/credit.ts";
import { toData } from "../credit/data.ts";
import type { Datum } from "../engines/engine.ts";
import { generatorOf, keyAt, shuffled } from "../random.ts";
import type { Episode } from "../rollout/episode.ts";
import { growEpisodes } from "../rollout/grow.ts";
import type { RolloutSetting } from "../rollout/setting.ts";
import { schemaVersion } from "../runs/records.ts";
import type { PolicyMetrics } from "../runs/records.ts";
import { rolloutMetrics } from "./rollout-metrics.ts";
import type { Session } from "./session.ts";
import { forTrained, timed } from "./session.ts";
import { adamAt, updatePolicy } from "./update.ts";
import type { StepRecord } from "./warm-start.ts";

export interface ReinforcementRecord extends StepRecord {
  readonly episodes: readonly Episode[];
  readonly credited: readonly CreditedAction[];
}

/** @param step Counted over both stages. @param stageStep Counted within the stage, like all random paths. */
export async function reinforcementStep(
  session: Session,
  step: number,
  stageStep: number,
): Promise<ReinforcementRecord> {
  session.emit({ type: "phase", phase: "sampling" });
  const sampling = await timed(() => rollOut(session, stageStep));
  const episodes = sampling.value;
  session.emit({ type: "phase", phase: "training" });
  const credited = credit(episodes, session.algorithm);
  const training = await timed(() =>
    forTrained(session, (policy) => reinforce(session, policy, stageStep, credited)),
  );
  const place = { schema_version: schemaVersion, step } as const;
  return {
    episodes,
    credited,
    metrics: {
      ...place,
      stage: "reinforcement",
      stageStep,
      policies: training.value,
      rollout: rolloutMetrics(episodes, credited),
    },
    timing: {
      ...place,
      what: "reinforcement",
      seconds: sampling.seconds + training.seconds,
      sampling: sampling.seconds,
      training: training.seconds,
    },
  };
}

function rollOut(session: Session, stageStep: number): Promise<Episode[]> {
  const { recipe, environment, root } = session;
  const starts = Array.from({ length: recipe.train.tasksPerStep }, (_, task) => {
    const path = ["train", stageStep, task];
    return { path, task: environment.task("train", keyAt(root, ...path, "task")) };
  });
  return growEpisodes(trainingSetting(session), root, starts);
}

function trainingSetting({
  recipe,
  environment,
  engine,
  policies,
  teams,
  algorithm,
  cancel,
}: Session): RolloutSetting {
  const { temperature, topK, topP } = recipe.train;
  const team = teams[0]?.team ?? { roles: [], phases: [], turns: 0 };
  return {
    environment,
    team,
    engine,
    policies,
    scheme: algorithm.sampling,
    score: algorithm.score,
    sampling: { temperature, topK, topP },
    ...(cancel === undefined ? {} : { signal: cancel }),
  };
}

function reinforce(
  session: Session,
  policy: string,
  stageStep: number,
  credited: readonly CreditedAction[],
): Promise<PolicyMetrics> {
  const { recipe, algorithm } = session;
  const own = credited.filter(({ action }) => action.policy === policy);
  return updatePolicy(session.engine, {
    policy,
    loss: algorithm.objective.loss,
    batches: batchesOf(session, policy, stageStep, own),
    adam: adamAt(recipe.train, stageStep, recipe.policies[policy]?.learningRate),
    signal: session.cancel,
  });
}

/** A group stays together: its members share a prompt, or a task, and their advantages sum to about 0. */
function batchesOf(
  { recipe, algorithm, root }: Session,
  policy: string,
  stageStep: number,
  credited: readonly CreditedAction[],
): (readonly Datum[])[] {
  const groups = [...Map.groupBy(credited, (placed) => placed.group).values()];
  const { epochs, minibatches } = recipe.train;
  const batches = Array.from({ length: epochs }, (_, epoch) => {
    const generator = generatorOf(keyAt(root, "minibatches", stageStep, policy, epoch));
    const order = minibatches === 1 ? groups : shuffled(generator, groups);
    return split(order, minibatches);
  });
  return batches.flat().map((batch) => toData(batch.flat(), algorithm).data);
}

/** Parts of nearly equal length, in order. */
function split<T>(items: readonly T[], parts: number): T[][] {
  const edge = (part: number) => Math.floor((part * items.length) / parts);
  return Array.from({ length: parts }, (_, part) => items.slice(edge(part), edge(part + 1)));
}
