/** A stage of a run: its teams and policies. */
import type { Engine, SavedPolicy } from "../engines/engine.ts";
import type { Services } from "../environments/environment.ts";
import type { RecordedCalls } from "../calls/recorded.ts";
import type { Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import { momentOf } from "../rollout/judging.ts";
import { basesOf, settleBases, taughtModels, warmStartRecipe } from "./bases.ts";
import { checkTools } from "./check-tools.ts";
import type { Stage } from "./events.ts";
import { retriesOf } from "./failures.ts";
import type { Judging } from "./judging.ts";
import { samplingSignal, type Interrupts } from "./interrupts.ts";
import { limitsOf } from "./limits.ts";
import type { Learner } from "./learner.ts";
import type { PlaySetting } from "./play.ts";
import { openPolicies } from "./policies.ts";
import type { OpenPolicies } from "./policies.ts";
import type { Resolved } from "./resolved.ts";
import { learningPolicies, namedTeams, taughtPolicies } from "./teams.ts";
import type { NamedTeams } from "./teams.ts";
import { demonstrationSetup } from "./warm-start.ts";
import type { WarmStart } from "./warm-start.ts";

/** What differs between stages; with a warm start of bases (bases.ts) even the policies do. */
export interface StageState {
  /** The stage's recipe: in a warm start of bases, bases take the places of the policies. */
  readonly recipe: Recipe;
  readonly policies: OpenPolicies;
  /** The trained team first. */
  readonly teams: NamedTeams;
  /** Names of the policies whose weights change in the stage. */
  readonly trained: ReadonlySet<string>;
}

/** The bases trained by a warm start of bases that is over; undefined: none. */
export type TaughtBases = Readonly<Record<string, SavedPolicy>> | undefined;

/** What all stages of a run share. */
export interface Shared extends Resolved {
  readonly engine: Engine;
  /** The run's random key, from the recipe's seed. */
  readonly root: Key;
  readonly interrupts: Interrupts;
  /** Recorded verdicts. */
  readonly verdicts: RecordedCalls;
  /** The judge of training, for the whole run; null: none. Evaluations open their own. */
  readonly judging: Judging | null;
  /** What the environment is lent. */
  readonly services: Services;
}

/** @param models the run's folder of models */
export async function openStage(
  { recipe: whole, environment, engine }: Pick<Shared, "recipe" | "environment" | "engine">,
  models: string,
  stage: Stage,
  bases: TaughtBases,
): Promise<StageState> {
  const isWarm = stage === "warm-start";
  const recipe = isWarm ? warmStartRecipe(whole) : whole;
  const taught = isWarm ? undefined : taughtModels(whole, models, bases ?? {});
  const policies = await openPolicies(engine, recipe, environment, models, taught);
  const teams = namedTeams(recipe, environment);
  checkTools(
    teams.flatMap(({ team }) => team.roles),
    policies,
  );
  return {
    recipe,
    policies,
    teams,
    trained: isWarm ? taughtPolicies(recipe) : learningPolicies(recipe),
  };
}

/** Policies start from the result of the warm start; those without a trained role stay as they are. */
export async function leaveWarmStart(
  shared: Pick<Shared, "recipe" | "environment" | "engine">,
  state: StageState,
  models: string,
): Promise<{ readonly state: StageState; readonly bases: TaughtBases }> {
  const { recipe: whole, engine } = shared;
  if (basesOf(whole).size === 0)
    return { state: { ...state, trained: learningPolicies(whole) }, bases: undefined };
  const bases = await settleBases(engine, whole, state.policies, models);
  return { state: await openStage(shared, models, "reinforcement", bases), bases };
}

export function warmStartOf(
  { engine, environment, root, interrupts }: Pick<Shared, "engine" | "environment" | "root" | "interrupts">,
  { recipe, teams, policies, trained }: StageState,
  settings: NonNullable<Recipe["warmStart"]>,
): WarmStart {
  const setup = demonstrationSetup({ recipe, environment }, teams, policies);
  return { engine, setup, settings, trained, root, signal: interrupts.changing };
}

export function playSetting(
  { engine, environment, services, algorithm, judge, judging, root, interrupts }: Shared,
  { recipe, teams, policies }: StageState,
): PlaySetting {
  const { temperature, topK, topP } = recipe.train;
  return {
    judging,
    rollout: {
      ...limitsOf(recipe),
      environment,
      services,
      team: teams[0].team,
      engine,
      policies,
      scheme: algorithm.sampling,
      score: algorithm.score,
      sampling: { temperature, topK, topP },
      retries: retriesOf(recipe),
      judge: judging?.judge ?? null,
      judgeMoment: judge && momentOf(judge, algorithm.sampling),
      comments: judge?.comments ?? false,
      signal: samplingSignal(recipe, interrupts),
    },
    algorithm,
    tasks: recipe.train,
    root,
    failureLimit: recipe.failures.limit,
  };
}

export function learnerOf(
  { engine, algorithm, root, interrupts }: Pick<Shared, "engine" | "algorithm" | "root" | "interrupts">,
  { recipe, policies, trained }: StageState,
): Learner {
  const own = Object.entries(recipe.policies).flatMap(([name, { learningRate }]) =>
    learningRate === undefined ? [] : [[name, learningRate] as const],
  );
  return {
    engine,
    algorithm,
    settings: recipe.train,
    learningRates: Object.fromEntries(own),
    trained,
    maxLength: Math.min(...[...trained].map((name) => policies[name]?.maxLength ?? Infinity)),
    root,
    measuring: samplingSignal(recipe, interrupts),
    signal: interrupts.changing,
  };
}
