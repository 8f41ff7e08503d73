/** Supervised steps on generated demonstrations, so that reinforcement has something to reinforce. */
import type { Datum } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { keyAt } from "../random.ts";
import { settleAll } from "../rollout/settle.ts";
import { schemaVersion } from "../runs/records.ts";
import type { PolicyMetrics, StepMetrics, Timing } from "../runs/records.ts";
import { examplesOf, weighted } from "./examples.ts";
import type { Lessons } from "./examples.ts";
import type { Resolved, Session } from "./session.ts";
import { forTrained, timed } from "./session.ts";
import { taughtRoles } from "./teams.ts";
import type { NamedTeam } from "./teams.ts";
import { adamAt, updatePolicy } from "./update.ts";

export interface StepRecord {
  readonly metrics: StepMetrics;
  readonly timing: Timing;
}

/** One step, counted from 1 within the stage. */
export async function warmStartStep(session: Session, stageStep: number): Promise<StepRecord> {
  session.emit({ type: "phase", phase: "training" });
  const { value: policies, seconds } = await timed(async () => {
    const data = Map.groupBy(examplesAt(session, stageStep), (datum) => datum.policy);
    const taught = forTrained(session, (policy) => teach(session, policy, stageStep, data.get(policy) ?? []));
    await settleAll<unknown>([taught, prepareExamples(session, stageStep + 1)]);
    return await taught;
  });
  return {
    metrics: { schema_version: schemaVersion, step: stageStep, stage: "warm-start", stageStep, policies },
    timing: {
      schema_version: schemaVersion,
      step: stageStep,
      what: "warm-start",
      seconds,
      training: seconds,
    },
  };
}

/** The next step's examples, made while the engine's threads compute this one's. */
const prepared = new WeakMap<Session, { readonly stageStep: number; readonly examples: Datum[] }>();

function examplesAt(session: Session, stageStep: number): Datum[] {
  const ahead = prepared.get(session);
  return ahead?.stageStep === stageStep ? ahead.examples : makeExamples(session, stageStep);
}

async function prepareExamples(session: Session, stageStep: number): Promise<void> {
  if (stageStep > settingsOf(session).steps) return;
  prepared.set(session, { stageStep, examples: makeExamples(session, stageStep) });
}

function makeExamples(session: Session, stageStep: number): Datum[] {
  const lessons = lessonsOf(session, session.teams, session.policies);
  const tasks = settingsOf(session).demonstrationsPerStep;
  return Array.from({ length: tasks }, (_, task) =>
    examplesOf(lessons, keyAt(session.root, "warm-start", stageStep, task)),
  ).flat();
}

/** Who is taught in a recipe's warm start. */
export function lessonsOf(
  { recipe, environment }: Pick<Resolved, "recipe" | "environment">,
  teams: readonly NamedTeam[],
  policies: Lessons["policies"],
): Lessons {
  const taught = new Set(
    taughtRoles(
      recipe,
      teams.map(({ team }) => team.roles),
    ),
  );
  return {
    environment,
    teams: teams.map(({ team }) => team).filter(({ roles }) => roles.some((role) => taught.has(role))),
    policies,
    isTaught: (role) => taught.has(role),
  };
}

function teach(
  session: Session,
  policy: string,
  stageStep: number,
  data: readonly Datum[],
): Promise<PolicyMetrics> {
  return updatePolicy(session.engine, {
    policy,
    loss: { type: "cross_entropy" },
    batches: [weighted(data)],
    adam: adamAt(settingsOf(session), stageStep),
    signal: session.cancel,
  });
}

function settingsOf({ recipe }: Session): NonNullable<Session["recipe"]["warmStart"]> {
  if (recipe.warmStart === undefined)
    throw new TroupeError("internal", "a recipe without a warm start has no such step");
  return recipe.warmStart;
}
