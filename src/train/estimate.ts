/**
 * What a recipe will cost, before anything is spent: samples, tokens, arithmetic, memory. Episodes are counted at their
 * full length and roles at a solver's, so a team that learns to be brief costs less than this says.
 */
import type { SamplingScheme } from "../rollout/episode.ts";
import type { Role, Team } from "../teams/team.ts";
import { keyAt, rootKey } from "../random.ts";
import { playerOf } from "../rollout/setting.ts";
import type { RolloutPolicy } from "../rollout/setting.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { mean } from "../statistics.ts";
import { evaluationAfter } from "./evaluations.ts";
import type { Resolved } from "./session.ts";
import { isTaught, namedTeams, trainedPolicies } from "./teams.ts";

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

interface RoleLength {
  readonly role: Role;
  readonly prompt: number;
  readonly action: number;
}

export function estimate({ recipe, environment, algorithm }: Resolved, sizes: Sizes): Estimate {
  const teams = namedTeams(recipe, environment);
  const lengths = teams.map(({ team }) => team.roles.map((role) => lengthOf(environment, team, role, sizes)));
  const own = { team: teams[0]?.team as Team, lengths: lengths[0] ?? [] };
  const { tasksPerStep, steps, epochs } = recipe.train;
  const episodes = repeat(playWork(own, algorithm.sampling, sizes, false), tasksPerStep * steps);
  const live = playWork(own, algorithm.sampling, sizes, true);
  const warmStart = lengths
    .flat()
    .filter(({ role }) => isTaught(recipe, role))
    .map((length) => exampleWork(length, sizes));
  const examples = (recipe.warmStart?.steps ?? 0) * (recipe.warmStart?.demonstrationsPerStep ?? 0);
  const line: SamplingScheme = { branch: { root: 1, inner: 1 }, keep: "first" };
  const played = teams.map(({ name, team }, index) => ({
    count: evaluations(recipe, teams, name),
    work: playWork({ team, lengths: lengths[index] ?? [] }, line, sizes, false),
  }));
  const parts = {
    warmStart: repeat(add(warmStart), examples),
    sampling: episodes,
    training: repeat(live, tasksPerStep * steps * epochs),
    evaluation: add(played.map(({ count, work }) => repeat(work, count))),
  };
  return { ...parts, total: add(Object.values(parts)), bytes: bytesOf(recipe, sizes) };
}

/** Matrix products with P weights take 2·P operations per token forward and 4·P backward; adapters 2·P backward. */
const forward = (size: PolicySize | undefined) => 2 * (size?.parameters ?? 0);
const training = (size: PolicySize | undefined) =>
  (size !== undefined && size.trainableParameters < size.parameters ? 4 : 6) * (size?.parameters ?? 0);

function exampleWork({ role, prompt, action }: RoleLength, sizes: Sizes): Work {
  const flops = (prompt + action) * training(sizes[role.policy]);
  return { samples: 1, promptTokens: prompt, actionTokens: action, flops };
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
function evaluations(recipe: Resolved["recipe"], teams: ReturnType<typeof namedTeams>, name: string): number {
  const first = recipe.warmStart?.steps ?? 0;
  let tasks = 0;
  for (let step = first; step <= first + recipe.train.steps; step++) {
    const plan = evaluationAfter({ recipe, teams }, step);
    if (plan?.teams.some((named) => named.name === name)) tasks += plan.tasks;
  }
  return tasks;
}

/** Tokens of a role's prompt at the start of a few tasks, and of a solver's action there. */
function lengthOf(environment: Resolved["environment"], team: Team, role: Role, sizes: Sizes): RoleLength {
  const player = playerOf({ environment, team, policies: sizes }, role.name);
  const measured = Array.from({ length: 8 }, (_, index) => {
    const state = environment.start(environment.task("train", keyAt(rootKey(0), "estimate", index)));
    const prompt = promptHistory(player, new Map(), environment.observe(state, role.seat), 0).tokens.length;
    const solved = environment.solve?.(state, role.seat);
    const action = solved === undefined ? role.maxTokens : player.tokenizer.encode(solved).length + 1;
    return { prompt, action: Math.min(action, role.maxTokens) };
  });
  return {
    role,
    prompt: mean(measured.map(({ prompt }) => prompt)),
    action: mean(measured.map(({ action }) => action)),
  };
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
  return { weights, checkpoint };
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

function add(works: readonly Work[]): Work {
  const total = (field: keyof Work) => works.reduce((sum, work) => sum + work[field], 0);
  return {
    samples: total("samples"),
    promptTokens: total("promptTokens"),
    actionTokens: total("actionTokens"),
    flops: total("flops"),
  };
}
