/**
 * The tokens that a run asks of a server, policy by policy, without a server or weights. Actions are as long as they may
 * be, and episodes last as long as they can, so these are upper bounds, except for prompts: they are those at the start
 * of an episode, which has no messages of others and no earlier turns.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPresentSync } from "../present.ts";
import type { Environment } from "../environments/environment.ts";
import type { Algorithm } from "../credit/algorithm.ts";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import type { ConfiguredEngine } from "../engines/kind.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import { oneTrajectory } from "../rollout/setting.ts";
import type { SamplingScheme } from "../rollout/episode.ts";
import type { Team } from "../teams/team.ts";
import { writeByteTokenizer } from "../text/byte-tokenizer.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { evaluatedEpisodes, tasksInStep } from "../train/estimate.ts";
import { expansionsOf, lengthsOf, type MeasuredTeam } from "../train/estimate-episode.ts";
import { namedTeams, type NamedTeam } from "../train/teams.ts";
import { contextWarnings } from "./contexts.ts";

/** Tokens of a prompt if the environment's tasks are not here. */
const assumedPrompt = 1000;
/** English text and code in the vocabularies of Qwen and Llama. */
const bytesPerToken = 4;

/** What one policy does in a run. */
export interface Load {
  /** Tokens of actions, and of prompts, of which a group's counts once. */
  readonly sampled: number;
  readonly prefilled: number;
  /** Tokens of sequences trained on: a server reads an action's prompt again for each. */
  readonly trained: number;
  /** Tokens whose log-probabilities are computed without training. */
  readonly scored: number;
  /** Of one step: the most sequences sampled at a time. */
  readonly atATime: number;
  /** Tokens of the longest sequence. */
  readonly longest: number;
}

export interface Loads {
  readonly steps: number;
  readonly policies: Readonly<Record<string, Load>>;
  /** What was assumed. */
  readonly assumptions: readonly string[];
  /** Of actions that the models' contexts cut. */
  readonly warnings: readonly Warning[];
}

interface LoadOptions {
  /** Tokens of the longest sequence that a policy's model accepts. */
  readonly contexts: Readonly<Record<string, number>>;
  /** Of the longest possible action, which one has on average. */
  readonly share?: number;
}

export async function loadsOf(
  resolved: ResolvedRecipe,
  { contexts, share = 1 }: LoadOptions,
): Promise<Loads> {
  const { recipe, environment } = resolved;
  const teams = namedTeams(recipe, environment);
  const assumptions = new Set<string>(["prompts: as at the start of an episode, before anyone has written"]);
  const measured: (MeasuredTeam & NamedTeam)[] = [];
  for (const { name, team } of teams) {
    const prompts = await promptsOf(environment, team, recipe, assumptions);
    const lengths = team.roles.map((role, index) => {
      const prompt = prompts[index] ?? assumedPrompt;
      const room = Math.max(1, (contexts[role.policy] ?? Infinity) - prompt);
      return { role, prompt, action: Math.min(share * role.maxTokens, room) };
    });
    measured.push({ name, team, lengths });
  }
  const policies = Object.keys(recipe.policies).map((name) => [name, loadOf(name, resolved, measured)]);
  return {
    steps: recipe.train.steps,
    policies: Object.fromEntries(policies),
    assumptions: [...assumptions],
    warnings: contextWarnings(
      measured.flatMap(({ lengths }) => lengths),
      contexts,
    ),
  };
}

/** Prompts of the first turn, in the tokens of the recipe's models, or in bytes if those are not here. */
async function promptsOf(
  environment: Environment,
  team: Team,
  recipe: Recipe,
  assumptions: Set<string>,
): Promise<readonly number[]> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-plan-"));
  try {
    writeByteTokenizer(folder);
    const read = Object.entries(recipe.policies).map(([name, { model, templateVariables }]) => {
      const isHere = "path" in model && isPresentSync(join(model.path, "tokenizer.json"));
      const tokenizer = loadTokenizer(isHere ? model.path : folder, templateVariables);
      return [
        name,
        { tokenizer, isHere, maxLength: 2 ** 40, parameters: 0, trainableParameters: 0 },
      ] as const;
    });
    const policies = Object.fromEntries(read);
    const lengths = await lengthsOf(environment, team, policies);
    if (read.some(([, { isHere }]) => !isHere))
      assumptions.add(`prompts: ${bytesPerToken} bytes per token, since a tokenizer is missing`);
    return lengths.map(({ role, prompt }) =>
      policies[role.policy]?.isHere === true ? prompt : prompt / bytesPerToken,
    );
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    assumptions.add(
      `prompts: ${assumedPrompt} tokens, since no task could be read (${showText(error.message, 200)})`,
    );
    return team.roles.map(() => assumedPrompt);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function loadOf(
  policy: string,
  { recipe, algorithm, environment, configuredEngine }: ResolvedRecipe,
  teams: readonly (MeasuredTeam & NamedTeam)[],
): Load {
  const [own] = teams;
  if (own === undefined) return nothing;
  const { steps, epochs } = recipe.train;
  const all = episodeOf(own, algorithm.sampling, () => true);
  const tasks = tasksInStep(recipe.train, { actionTokens: all.sampled });
  const episode = episodeOf(own, algorithm.sampling, (role) => role.policy === policy);
  const learnt = episodeOf(own, algorithm.sampling, (role) => role.policy === policy && !role.frozen);
  const named = namedTeams(recipe, environment);
  const evaluated = teams.map((team) => {
    const { sampled, prefilled } = episodeOf(team, oneTrajectory, (role) => role.policy === policy);
    const times = evaluatedEpisodes({ recipe, environment }, named, team.name);
    return { sampled: times * sampled, prefilled: times * prefilled };
  });
  const sum = (key: "sampled" | "prefilled") => evaluated.reduce((total, each) => total + each[key], 0);
  const done = steps * tasks;
  return {
    sampled: done * episode.sampled + sum("sampled"),
    prefilled: done * episode.prefilled + sum("prefilled"),
    trained: done * epochs * learnt.read,
    scored: done * passesOf(recipe, algorithm, configuredEngine) * learnt.read,
    atATime: tasks * episode.atATime,
    longest: episode.longest,
  };
}

/** Forward passes over what is trained on: by the reference, by the proximal policy, and for each surrogate of the loss. */
function passesOf({ train }: Recipe, { kl, objective }: Algorithm, engine: ConfiguredEngine): number {
  const surrogates = engine.needsForward(objective.loss) ? train.epochs : 0;
  return (kl === null ? 0 : 1) + (train.maxLag ?? 0) + surrogates;
}

const nothing: Load = { sampled: 0, prefilled: 0, trained: 0, scored: 0, atATime: 0, longest: 0 };

/** One episode of full length. */
function episodeOf(
  team: MeasuredTeam,
  sampling: SamplingScheme,
  isCounted: (role: Team["roles"][number]) => boolean,
) {
  const depths = expansionsOf(team, sampling).map(({ roles, count, nodes }) => {
    const counted = roles.filter(({ role }) => isCounted(role));
    const total = (of: (length: (typeof counted)[number]) => number) =>
      counted.reduce((sum, each) => sum + nodes * of(each), 0);
    return {
      sampled: total(({ action }) => count * action),
      prefilled: total(({ prompt }) => prompt),
      read: total(({ prompt, action }) => count * (prompt + action)),
      atATime: nodes * count * counted.length,
      longest: Math.max(0, ...counted.map(({ prompt, action }) => prompt + action)),
    };
  });
  const sum = (key: "sampled" | "prefilled" | "read") =>
    depths.reduce((total, depth) => total + depth[key], 0);
  const most = (key: "atATime" | "longest") => Math.max(0, ...depths.map((depth) => depth[key]));
  return {
    sampled: sum("sampled"),
    prefilled: sum("prefilled"),
    read: sum("read"),
    atATime: most("atATime"),
    longest: most("longest"),
  };
}
