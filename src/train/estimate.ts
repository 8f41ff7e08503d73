/**
 * What a recipe will cost, before anything is spent: samples, tokens, arithmetic, memory. Episodes are counted at their
 * full length and roles at a solver's, so a team that learns to be brief costs less than this says.
 */
import type { Datum } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { keyAt, rootKey } from "../random.ts";
import type { SamplingScheme } from "../rollout/episode.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { oneLine, playerOf } from "../rollout/setting.ts";
import type { Player, RolloutPolicy } from "../rollout/setting.ts";
import { mean } from "../statistics.ts";
import type { Role, Team } from "../teams/team.ts";
import { basesOf, warmStartRecipe } from "./bases.ts";
import { evaluationAfter } from "./evaluations.ts";
import { examplesOf, tokensOf } from "./examples.ts";
import type { Resolved } from "./session.ts";
import { namedTeams, trainedPolicies } from "./teams.ts";
import type { NamedTeam } from "./teams.ts";
import { lessonsOf } from "./warm-start.ts";

/** A policy as far as an estimate needs it. */
export interface PolicySize extends RolloutPolicy {
  readonly parameters: number;
  /** Fewer than `parameters`: an adapter. */
  readonly trainableParameters: number;
}

export interface Work {
  /** Actions sampled, or examples trained on. */
  readonly samples: number;
  readonly promptTokens: number;
  readonly actionTokens: number;
  /** Multiplications and additions of the matrix products with weights; attention is left out. */
  readonly flops: number;
}

export interface Estimate {
  readonly warmStart: Work;
  readonly sampling: Work;
  readonly training: Work;
  readonly evaluation: Work;
  readonly total: Work;
  readonly bytes: {
    /** Weights, gradients and both moments, in float32. */
    readonly weights: number;
    /** One checkpoint on the disk. */
    readonly checkpoint: number;
  };
}

type Sizes = Readonly<Record<string, PolicySize>>;
type Teams = readonly NamedTeam[];

/** Tasks by which lengths are measured. */
const measuredTasks = 16;

interface RoleLength {
  readonly role: Role;
  readonly prompt: number;
  readonly action: number;
}

export function estimate(resolved: Resolved, sizes: Sizes): Estimate {
  const { recipe, environment, algorithm } = resolved;
  const teams = namedTeams(recipe, environment);
  const players = teams.map(({ name, team }) => ({
    name,
    team,
    lengths: lengthsOf(environment, team, sizes),
  }));
  const [own] = players;
  const { tasksPerStep, steps, epochs } = recipe.train;
  const episodes = tasksPerStep * steps;
  const parts = {
    warmStart: lessonWork(resolved, teams, sizes),
    sampling: own === undefined ? nothing : repeat(playWork(own, algorithm.sampling, sizes, false), episodes),
    training:
      own === undefined ? nothing : repeat(playWork(own, algorithm.sampling, sizes, true), episodes * epochs),
    evaluation: add(
      players.map((player) =>
        repeat(playWork(player, oneLine, sizes, false), evaluatedTasks(recipe, teams, player.name)),
      ),
    ),
  };
  return { ...parts, total: add(Object.values(parts)), bytes: bytesOf(recipe, sizes) };
}

/** Matrix products with P weights take 2·P operations per token forward and 4·P backward; adapters 2·P backward. */
const forward = (size: PolicySize | undefined) => 2 * (size?.parameters ?? 0);
const training = (size: PolicySize | undefined) =>
  (size !== undefined && size.trainableParameters < size.parameters ? 4 : 6) * (size?.parameters ?? 0);

/** The warm start, by a few calls of the environment's demonstrations. What prompts share counts once. */
function lessonWork(resolved: Resolved, teams: Teams, sizes: Sizes): Work {
  const { warmStart } = resolved.recipe;
  if (warmStart === undefined) return nothing;
  const recipe = warmStartRecipe(resolved.recipe);
  const known = { ...sizes, ...baseSizes(resolved.recipe, sizes) };
  const named = recipe === resolved.recipe ? teams : namedTeams(recipe, resolved.environment);
  const lessons = lessonsOf({ ...resolved, recipe }, named, known);
  const calls = Array.from({ length: measuredTasks }, (_, index) => keyAt(rootKey(0), "estimate", index));
  const works = calls.flatMap((key) => examplesOf(lessons, key)).map((datum) => datumWork(datum, known));
  return repeat(add(works), (warmStart.steps * warmStart.demonstrationsPerStep) / measuredTasks);
}

/** The models that a warm start of bases trains, whole: those of their policies without the adapters. */
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
  const continued = datum.continuations.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = datum.prompt.length + continued;
  return {
    samples: datum.continuations.length,
    promptTokens: tokens - written,
    actionTokens: written,
    flops: tokens * training(sizes[datum.policy]),
  };
}

/** One episode at full length: every node of every line that goes on is expanded. */
function playWork(
  { team, lengths }: { team: Team; lengths: readonly RoleLength[] },
  { branch, keep }: SamplingScheme,
  sizes: Sizes,
  isTraining: boolean,
): Work {
  const works: Work[] = [];
  let lines = 1;
  for (let depth = 0; depth < team.turns * team.phases.length; depth++) {
    const count = depth === 0 ? branch.root : branch.inner;
    const phase = team.phases[depth % team.phases.length] ?? [];
    for (const { role, prompt, action } of lengths.filter((length) => phase.includes(length.role.name))) {
      if (isTraining && role.frozen) continue;
      const rate = isTraining ? training(sizes[role.policy]) : forward(sizes[role.policy]);
      const flops = (prompt + count * action) * rate;
      works.push(
        repeat({ samples: count, promptTokens: prompt, actionTokens: count * action, flops }, lines),
      );
    }
    if (keep === "all") lines *= count;
  }
  return add(works);
}

/** Tasks on which a team is evaluated in the whole run. */
function evaluatedTasks(recipe: Resolved["recipe"], teams: Teams, name: string): number {
  const first = recipe.warmStart?.steps ?? 0;
  let tasks = 0;
  for (let step = first; step <= first + recipe.train.steps; step++) {
    const plan = evaluationAfter({ recipe, teams }, step);
    if (plan?.teams.some((named) => named.name === name)) tasks += plan.tasks;
  }
  return tasks;
}

/** Tokens of each role's prompt at the start of a few tasks, and of a solver's action there. */
function lengthsOf(environment: Environment, team: Team, policies: Sizes): RoleLength[] {
  return team.roles.map((role) => {
    const player = playerOf({ environment, team, policies }, role.name);
    const measured = Array.from({ length: measuredTasks }, (_, index) =>
      lengthAtStart(environment, player, index),
    );
    return {
      role,
      prompt: mean(measured.map(({ prompt }) => prompt)),
      action: mean(measured.map(({ action }) => action)),
    };
  });
}

function lengthAtStart(
  environment: Environment,
  player: Player,
  index: number,
): { prompt: number; action: number } {
  const { role, tokenizer } = player;
  const state = environment.start(environment.task("train", keyAt(rootKey(0), "estimate", index)));
  const prompt = promptHistory(player, new Map(), environment.observe(state, role.seat), 0).tokens.length;
  const solved = environment.solve?.(state, role.seat);
  const action = solved === undefined ? role.maxTokens : tokenizer.encode(solved).length + 1;
  return { prompt, action: Math.min(action, role.maxTokens) };
}

function bytesOf(recipe: Resolved["recipe"], sizes: Sizes): Estimate["bytes"] {
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
  const warm = Object.values(baseSizes(recipe, sizes)).map(({ parameters }) => parameters);
  const taught = warm.reduce((sum, parameters) => sum + parameters, 0);
  return { weights: Math.max(weights, 16 * taught), checkpoint: Math.max(checkpoint, 12 * taught) };
}

function repeat(work: Work, times: number): Work {
  const { samples, promptTokens, actionTokens, flops } = work;
  return {
    samples: samples * times,
    promptTokens: promptTokens * times,
    actionTokens: actionTokens * times,
    flops: flops * times,
  };
}

const nothing: Work = { samples: 0, promptTokens: 0, actionTokens: 0, flops: 0 };

function add(works: readonly Work[]): Work {
  const total = (field: keyof Work) => works.reduce((sum, work) => sum + work[field], 0);
  return {
    samples: total("samples"),
    promptTokens: total("promptTokens"),
    actionTokens: total("actionTokens"),
    flops: total("flops"),
  };
}
