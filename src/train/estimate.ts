/**
 * Estimates the cost of a recipe before training: samples, tokens, FLOPs, memory. Assumes full-length episodes and
 * actions as long as a solver's, so a team that learns to be brief costs less.
 */
import { needsInitialPolicies } from "../credit/kl.ts";
import type { Datum } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { sourceOf } from "../environments/tasks.ts";
import type { JudgeEstimate, PlannedQuestions, ConfiguredJudge } from "../judges/judge.ts";
import { keyAt, rootKey } from "../random.ts";
import { oneTrajectory } from "../rollout/setting.ts";
import { settleAll } from "../settle.ts";
import { sum } from "../statistics.ts";
import { criticsOf } from "./auxiliary.ts";
import {
  criticWork,
  expansionsOf,
  influenceWork,
  learningOnly,
  lengthsOf,
  measuredTasks,
  samplingWork,
  trainingWork,
  add,
  nothing,
  repeat,
  training,
  type Expansion,
  type MeasuredTeam,
  type Sizes,
  type Work,
} from "./estimate-episode.ts";
import { evaluationAfter } from "./evaluations.ts";
import { influenceOf } from "./influence.ts";
import { demonstrationSetup, examplesOf, tokensOf } from "./sft.ts";
import type { Resolved } from "./state.ts";
import {
  basesOf,
  learningPolicies,
  namedTeams,
  trainedPolicies,
  warmStartRecipe,
  type NamedTeams,
} from "./teams.ts";

export type { PolicySize, Work } from "./estimate-episode.ts";

export interface Estimate {
  readonly warmStart: Work;
  readonly sampling: Work;
  readonly training: Work;
  /**
   * References and critics: their values on the sampled actions, and the critics' own training. With what `watch` measures
   * by forward passes.
   */
  readonly signals: Work;
  readonly evaluation: Work;
  readonly total: Work;
  /** null: there is no judge, or its cost is not known. */
  readonly judging: JudgeEstimate | null;
  readonly bytes: {
    /** Weights, gradients and both moments, in float32. */
    readonly weights: number;
    /** One checkpoint on disk. */
    readonly checkpoint: number;
  };
}

export async function estimate(resolved: Resolved, sizes: Sizes): Promise<Estimate> {
  const { recipe, environment } = resolved;
  const teams = namedTeams(recipe, environment);
  const measured = await settleAll(
    teams.map(async ({ name, team }) => ({ name, team, lengths: await lengthsOf(environment, team, sizes) })),
  );
  const [own] = measured;
  const parts = {
    warmStart: warmStartWork(resolved, teams, sizes),
    ...(own === undefined ? noStage : stageWork(resolved, own, sizes)),
    evaluation: add(
      measured.map((team) =>
        repeat(
          samplingWork(expansionsOf(team, oneTrajectory), sizes),
          evaluatedEpisodes(resolved, teams, team.name),
        ),
      ),
    ),
  };
  const judging = judgingOf(resolved, teams, measured, sizes);
  return { ...parts, total: add(Object.values(parts)), judging, bytes: bytesOf(resolved, sizes) };
}

function judgingOf(
  resolved: Resolved,
  teams: NamedTeams,
  measured: readonly (MeasuredTeam & { readonly name: string })[],
  sizes: Sizes,
): JudgeEstimate | null {
  const { recipe, algorithm, environment, judge } = resolved;
  const [own] = measured;
  if (judge?.estimate === undefined || own === undefined) return null;
  const expansions = expansionsOf(own, algorithm.sampling);
  const episodes = tasksInStep(recipe.train, samplingWork(expansions, sizes)) * recipe.train.steps;
  const questions = plannedQuestions(expansions, episodes, judge, environment);
  const evaluated = measured.flatMap((team) => {
    const tasks = evaluatedEpisodes(resolved, teams, team.name);
    return plannedQuestions(expansionsOf(team, oneTrajectory), tasks, judge, environment);
  });
  return judge.estimate([...questions, ...(judge.evaluation ? evaluated : [])]);
}

/**
 * The questions that a run asks its judge at most: full-length episodes in which no two actions are equal.
 * @param expansions of one episode
 * @param episodes how many there are
 */
function plannedQuestions(
  expansions: readonly Expansion[],
  episodes: number,
  { fills }: Pick<ConfiguredJudge, "fills">,
  { seats }: Pick<Environment, "seats">,
): PlannedQuestions[] {
  const onePath = sum(expansions.flatMap(({ roles }) => roles.map(({ action }) => action)));
  return expansions.flatMap(({ roles, count, nodes }) =>
    roles
      .filter(({ role }) => fills === "all" || seats[role.seat]?.judged === true)
      .map(({ prompt, action }) => ({
        states: nodes * episodes,
        alternatives: count,
        seen: prompt,
        written: action,
        others: onePath - action,
      })),
  );
}

/** The warm start, estimated from a few calls of the environment's demonstrations. Shared prefixes count once. */
function warmStartWork(resolved: Resolved, teams: NamedTeams, sizes: Sizes): Work {
  const { warmStart } = resolved.recipe;
  if (warmStart === undefined) return nothing;
  const recipe = warmStartRecipe(resolved.recipe);
  const known = { ...sizes, ...baseSizes(resolved.recipe, sizes) };
  const named = recipe === resolved.recipe ? teams : namedTeams(recipe, resolved.environment);
  const setup = demonstrationSetup({ ...resolved, recipe }, named, known);
  const calls = Array.from({ length: measuredTasks }, (_, index) => keyAt(rootKey(0), "estimate", index));
  const works = calls.flatMap((key) => examplesOf(setup, key)).map((datum) => datumWork(datum, known));
  return repeat(add(works), (warmStart.steps * warmStart.demonstrationsPerStep) / measuredTasks);
}

/** The models that a warm start of bases trains as whole models: the policies' models without adapters. */
function baseSizes(recipe: Resolved["recipe"], sizes: Sizes): Sizes {
  const bases = [...basesOf(recipe)].flatMap(([policy, base]) => {
    const size = sizes[policy];
    if (size === undefined) return [];
    const isAdapter = size.trainableParameters < size.parameters;
    const parameters = size.parameters - (isAdapter ? size.trainableParameters : 0);
    return [[base, { ...size, parameters, trainableParameters: parameters }] as const];
  });
  return Object.fromEntries(bases);
}

function datumWork(datum: Datum, sizes: Sizes): Work {
  const written = tokensOf([datum]);
  const continued = sum(datum.continuations.map(({ tokens }) => tokens.length));
  const tokens = datum.prompt.length + continued;
  return {
    samples: datum.continuations.length,
    promptTokens: tokens - written,
    actionTokens: written,
    flops: tokens * training(sizes[datum.policy]),
  };
}

const noStage = { sampling: nothing, training: nothing, signals: nothing };

/** All of reinforcement. */
function stageWork(
  { recipe, algorithm, environment }: Resolved,
  team: MeasuredTeam,
  sizes: Sizes,
): Pick<Estimate, "sampling" | "training" | "signals"> {
  const { steps, epochs } = recipe.train;
  const expansions = expansionsOf(team, algorithm.sampling);
  const sampling = samplingWork(expansions, sizes);
  const tasks = tasksInStep(recipe.train, sampling);
  const learning = learningOnly(expansions);
  const references = algorithm.kl === null ? nothing : samplingWork(learning, sizes);
  const critics = algorithm.critic === null ? nothing : criticWork(learning, algorithm.critic, sizes);
  const { every, replies } = influenceOf(recipe, environment);
  const probes =
    every === 0 ? nothing : influenceWork(expansions, algorithm.sampling, { replies, tasks }, sizes);
  return {
    sampling: repeat(sampling, tasks * steps),
    training: repeat(trainingWork(learning, sizes), tasks * steps * epochs),
    signals: add([
      repeat(add([references, critics]), tasks * steps),
      repeat(probes, every === 0 ? 0 : Math.ceil(steps / every)),
    ]),
  };
}

/** @param episode what sampling one costs */
export function tasksInStep(
  { tasksPerStep, tokensPerStep = 0 }: Pick<Resolved["recipe"]["train"], "tasksPerStep" | "tokensPerStep">,
  episode: Pick<Work, "actionTokens">,
): number {
  return Math.max(tasksPerStep, Math.ceil(tokensPerStep / Math.max(1, episode.actionTokens)));
}

/** Episodes in which a team is evaluated in the whole run: before, after, and at intervals. */
export function evaluatedEpisodes(
  { recipe, environment }: Pick<Resolved, "recipe" | "environment">,
  teams: NamedTeams,
  name: string,
): number {
  const { steps } = recipe.train;
  const { every, split, samples } = recipe.evaluation;
  const most = sourceOf(environment, split).size ?? Infinity;
  const tasksAfter = (stageStep: number): number => {
    const plan = evaluationAfter(recipe, teams, (recipe.warmStart?.steps ?? 0) + stageStep);
    return plan?.teams.some((named) => named.name === name) === true ? Math.min(plan.tasks, most) : 0;
  };
  const between = every > 0 && every < steps ? Math.floor((steps - 1) / every) * tasksAfter(every) : 0;
  return samples * (tasksAfter(0) + between + (steps > 0 ? tasksAfter(steps) : 0));
}

/** Weights once per whole model or base; gradients and moments of trained ones; references and critics likewise. */
function bytesOf(resolved: Resolved, sizes: Sizes): Estimate["bytes"] {
  const { recipe, algorithm } = resolved;
  const trained = trainedPolicies(recipe);
  const bases = new Set<string>();
  let [weights, checkpoint] = [0, 0];
  for (const [name, { parameters, trainableParameters }] of Object.entries(sizes)) {
    const isAdapter = trainableParameters < parameters;
    const base = JSON.stringify(recipe.policies[name]?.model);
    if (!isAdapter || !bases.has(base))
      weights += 4 * (isAdapter ? parameters - trainableParameters : parameters);
    if (isAdapter) {
      bases.add(base);
      weights += 4 * trainableParameters;
    }
    if (!trained.has(name)) continue;
    weights += 12 * trainableParameters;
    checkpoint += 12 * trainableParameters;
  }
  for (const { policy } of recipe.train.steps === 0 ? [] : criticsOf(recipe, algorithm.critic))
    checkpoint += 12 * (sizes[policy]?.trainableParameters ?? 0);
  return { weights: weights + auxiliaryBytes(resolved, sizes), checkpoint };
}

/** Of references and critics, which a run makes besides the policies: weights, and a critic's gradients and moments. */
export function auxiliaryBytes({ recipe, algorithm }: Resolved, sizes: Sizes): number {
  const trainable = (policy: string) => sizes[policy]?.trainableParameters ?? 0;
  const critics = recipe.train.steps === 0 ? [] : criticsOf(recipe, algorithm.critic);
  const references = needsInitialPolicies(algorithm) ? [...learningPolicies(recipe)] : [];
  return sum([
    ...critics.map(({ policy }) => 16 * trainable(policy)),
    ...references.map((policy) => 4 * trainable(policy)),
  ]);
}
