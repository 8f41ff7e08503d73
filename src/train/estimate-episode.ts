/** The cost of one full-length episode of a team: sampling, training, and its signals (references, critics). */
import type { CriticTerm } from "../credit/algorithm.ts";
import type { Environment, Json } from "../environments/environment.ts";
import { plainContext, startEpisode } from "../environments/progression.ts";
import { sourceOf, trainingTasks } from "../environments/tasks.ts";
import { keyAt, rootKey } from "../random.ts";
import type { SamplingScheme } from "../rollout/episode.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { agentOf } from "../rollout/setting.ts";
import type { Agent, RolloutPolicy } from "../rollout/setting.ts";
import { mean, sum } from "../statistics.ts";
import type { Role, Team } from "../teams/team.ts";

/** Number of tasks whose lengths are measured. */
export const measuredTasks = 16;

interface RoleLength {
  readonly role: Role;
  readonly prompt: number;
  readonly action: number;
}

/** A team with the lengths of its roles' prompts and actions. */
export interface MeasuredTeam {
  readonly team: Team;
  readonly lengths: readonly RoleLength[];
}

/** An expansion that occurs at several nodes of an episode: `count` actions of each role. */
export interface Expansion {
  /** How many joint actions lead there. */
  readonly depth: number;
  readonly roles: readonly RoleLength[];
  readonly count: number;
  readonly nodes: number;
  /** Tokens of the prompts of all roles of the phase, including frozen ones. */
  readonly prompts: number;
}

/** One full-length episode: every node of every continued trajectory is expanded. */
export function expansionsOf(
  { team, lengths }: MeasuredTeam,
  { branch, keep, joint, continued }: SamplingScheme,
): Expansion[] {
  const expansions: Expansion[] = [];
  // If the environment decides who acts, one action per role and turn is assumed.
  const phases = team.phases.length > 0 ? team.phases : team.roles.map(({ name }) => [name]);
  let [nodes, continuations] = [1, 0];
  for (let depth = 0; depth < team.turns * phases.length; depth++) {
    const count = depth === 0 ? branch.root : branch.inner;
    const phase = phases[depth % phases.length] ?? [];
    const roles = lengths.filter((length) => phase.includes(length.role.name));
    const prompts = sum(roles.map(({ prompt }) => prompt));
    expansions.push({ depth, roles, count, nodes, prompts });
    if (continuations > 0) expansions.push({ depth, roles, count: 1, nodes: continuations, prompts });
    const children = joint === "cross" ? count ** roles.length : count;
    if (continued === "once") continuations += children - 1;
    else if (keep === "all") nodes *= children;
  }
  return expansions;
}

export function learningOnly(expansions: readonly Expansion[]): Expansion[] {
  return expansions.map((each) => ({ ...each, roles: each.roles.filter(({ role }) => !role.frozen) }));
}

export function samplingWork(expansions: readonly Expansion[], sizes: Sizes): Work {
  return roleWork(expansions, (policy) => forward(sizes[policy]));
}

export function trainingWork(expansions: readonly Expansion[], sizes: Sizes): Work {
  return roleWork(expansions, (policy) => training(sizes[policy]));
}

/** @param rate operations per token */
function roleWork(expansions: readonly Expansion[], rate: (policy: string) => number): Work {
  return add(
    expansions.flatMap(({ roles, count, nodes }) =>
      roles.map(({ role, prompt, action }) =>
        repeat(workOf(count, prompt, count * action, rate(role.policy)), nodes),
      ),
    ),
  );
}

/** Values once, then the critic's own epochs. A central critic reads the concatenated prompts of the phase once. */
export function criticWork(
  expansions: readonly Expansion[],
  { scope, at, epochs }: CriticTerm,
  sizes: Sizes,
): Work {
  const works = expansions.flatMap(({ roles, count, nodes, prompts }) =>
    roles.map(({ role, prompt, action }) => {
      const read = scope === "role" ? prompt : prompts / roles.length;
      const size = sizes[role.policy];
      const rate = forward(size) + epochs * training(size);
      return repeat(workOf(count, read, count * (at === "prompt" ? 1 : action), rate), nodes);
    }),
  );
  return add(works);
}

/**
 * Measuring influence once (influence.ts): replies whose log-probabilities are computed under two prompts, at most
 * `replies` for each role whose words are replaced. Only where that role has several samples in one state.
 * @param tasks of a step
 */
export function influenceWork(
  expansions: readonly Expansion[],
  { joint }: Pick<SamplingScheme, "joint">,
  { replies, tasks }: { readonly replies: number; readonly tasks: number },
  sizes: Sizes,
): Work {
  const depths = [...Map.groupBy(expansions, ({ depth }) => depth).values()];
  const found = depths.flatMap((own, depth) => {
    const before = depths[depth - 1]?.filter(({ count }) => count > 1) ?? [];
    const writers = before.flatMap(({ roles }) => (roles.length === 1 || joint === "cross" ? roles : []));
    const siblings = sum(
      before.map(({ nodes, count, roles }) => nodes * (joint === "cross" ? count ** roles.length : count)),
    );
    const readers = Math.min(siblings, sum(own.map(({ nodes }) => nodes))) * tasks;
    const roles = own[0]?.roles ?? [];
    return writers.flatMap(({ role: { name: writer } }) =>
      roles.flatMap(({ role, prompt, action }) =>
        role.name === writer || sizes[role.policy] === undefined
          ? []
          : [{ writer, count: readers, pass: workOf(1, prompt, action, forward(sizes[role.policy])) }],
      ),
    );
  });
  const byWriter = [...Map.groupBy(found, ({ writer }) => writer).values()];
  return add(
    byWriter.flatMap((own) => {
      const share = Math.min(1, replies / sum(own.map(({ count }) => count)));
      return own.map(({ count, pass }) => repeat(pass, 2 * count * share));
    }),
  );
}

/** Tokens of each role's prompt at the start of a few tasks, and of the solver's action there. */
export async function lengthsOf(
  environment: Environment,
  team: Team,
  policies: Sizes,
): Promise<RoleLength[]> {
  const starts = await startsOf(environment);
  return team.roles.map((role) => {
    const agent = agentOf({ environment, team, policies }, role.name);
    const measured = starts.map((state) => lengthAtStart(environment, agent, state));
    return {
      role,
      prompt: mean(measured.map(({ prompt }) => prompt)),
      action: mean(measured.map(({ action }) => action)),
    };
  });
}

/** Start states of a few training tasks. */
export async function startsOf(environment: Environment, count = measuredTasks): Promise<readonly Json[]> {
  const taskOf = trainingTasks(sourceOf(environment, "train"), rootKey(0));
  const states: Json[] = [];
  for (let index = 0; index < count; index++) {
    const key = keyAt(rootKey(0), "estimate", index);
    states.push((await startEpisode(environment, await taskOf(index, key), plainContext(key))).state);
  }
  return states;
}

function lengthAtStart(
  environment: Environment,
  agent: Agent,
  state: Json,
): { prompt: number; action: number } {
  const { role, tokenizer } = agent;
  const prompt = promptHistory(agent, new Map(), environment.observe(state, role.seat), 0).tokens.length;
  const solved = environment.oracle?.solve?.(state, role.seat);
  const action = solved === undefined ? role.maxTokens : tokenizer.encode(solved).length + 1;
  return { prompt, action: Math.min(action, role.maxTokens) };
}

/** The size of a policy. */
export interface PolicySize extends RolloutPolicy {
  readonly parameters: number;
  /** Fewer than `parameters`: an adapter. */
  readonly trainableParameters: number;
}

export type Sizes = Readonly<Record<string, PolicySize>>;

export interface Work {
  /** Actions sampled, or examples trained on. */
  readonly samples: number;
  readonly promptTokens: number;
  readonly actionTokens: number;
  /** FLOPs of matrix products with weights; attention is not included. */
  readonly flops: number;
}

export const nothing: Work = { samples: 0, promptTokens: 0, actionTokens: 0, flops: 0 };

/** Matrix products with P weights take 2·P FLOPs per token forward and 4·P backward; adapters 2·P backward. */
const forward = (size: PolicySize | undefined) => 2 * (size?.parameters ?? 0);
export const training = (size: PolicySize | undefined) =>
  (size !== undefined && size.trainableParameters < size.parameters ? 4 : 6) * (size?.parameters ?? 0);

function workOf(samples: number, promptTokens: number, actionTokens: number, rate: number): Work {
  return { samples, promptTokens, actionTokens, flops: (promptTokens + actionTokens) * rate };
}

export function repeat(work: Work, times: number): Work {
  const { samples, promptTokens, actionTokens, flops } = work;
  return {
    samples: samples * times,
    promptTokens: promptTokens * times,
    actionTokens: actionTokens * times,
    flops: flops * times,
  };
}

export function add(works: readonly Work[]): Work {
  const total = (field: keyof Work) => sum(works.map((work) => work[field]));
  return {
    samples: total("samples"),
    promptTokens: total("promptTokens"),
    actionTokens: total("actionTokens"),
    flops: total("flops"),
  };
}
