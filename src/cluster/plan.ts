/** Which servers a recipe needs, how large they are, and what a run costs there. */
import { basename, join } from "node:path";
import { needsInitialPolicies } from "../credit/kl.ts";
import type { EngineServers } from "../engines/kind.ts";
import { TroupeError } from "../errors.ts";
import { showBytes, showCount } from "../format.ts";
import { isHubName } from "../recipes/places.ts";
import type { ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { Team } from "../teams/team.ts";
import { namedTeams } from "../train/teams.ts";
import { hoursOf, runHours, serverSize, tokenDollars, type RunHours, type ServerSize } from "./cost.ts";
import { gpus, dollarsPerHour, tokenPrice, type GpuName, type TokenPrice } from "./gpus.ts";
import { loadsOf, type Load } from "./load.ts";
import { plannedPolicy, type PlannedPolicy } from "./sizes.ts";

/** Average length of an action for the second of two estimates, as a share of the longest. */
export const typicalShare = 0.25;

export type ServerKind = "skyrl-fsdp" | "skyrl-jax";

export interface PlannedServer {
  readonly url: string;
  readonly kind: ServerKind;
  /** What the server calls its model, and its own name: at most one server per policy. */
  readonly model: string;
  readonly name: string;
  readonly policies: readonly PlannedPolicy[];
  /** Policies and their references, at a time. */
  readonly models: number;
  readonly size: ServerSize;
}

export interface Cost {
  /** GPU servers only. */
  readonly hours?: RunHours;
  /** Undefined: the price is not known. */
  readonly dollars?: number;
}

export interface ClusterPlan {
  readonly recipe: string;
  readonly gpu: GpuName;
  readonly dollarsPerHour: number;
  /** None for a service. */
  readonly servers: readonly PlannedServer[];
  readonly policies: readonly PlannedPolicy[];
  readonly loads: Readonly<Record<string, Load>>;
  readonly gpus: number;
  readonly atMost: Cost;
  /** With actions of `typicalShare` of the longest. */
  readonly typical: Cost;
  /** For a service. */
  readonly prices: readonly (readonly [model: string, price: TokenPrice | undefined])[];
  /** What was assumed, and what could not be checked. */
  readonly assumptions: readonly string[];
  readonly warnings: readonly Warning[];
}

export interface PlanOptions {
  readonly gpu: GpuName;
  /** Dollars of one GPU. Default: the price in recipes/cluster/prices.json. */
  readonly perHour?: number | undefined;
}

/** @throws TroupeError `bad_recipe` for a recipe without a remote engine, or with models of unknown size */
export async function planCluster(
  resolved: ResolvedRecipe,
  { gpu, perHour }: PlanOptions,
): Promise<ClusterPlan> {
  const { recipe } = resolved;
  const policies = Object.entries(recipe.policies).map(([name, policy]) =>
    known(name, policy, plannedPolicy(name, policy), resolved.configuredEngine.servers === null),
  );
  const contexts = Object.fromEntries(policies.map(({ name, shape }) => [name, shape.maxLength]));
  const most = await loadsOf(resolved, { contexts });
  const typical = await loadsOf(resolved, { contexts, share: typicalShare });
  const servers = serversOf(resolved, policies, most.policies, gpu);
  const price = perHour ?? dollarsPerHour(gpu);
  const count = servers.reduce((sum, { size }) => sum + size.gpus, 0);
  const isService = resolved.configuredEngine.servers?.startedBy === "service";
  const prices = isService ? policies.map(({ directory }) => priceOf(resolved, directory)) : [];
  const costOf = (loads: Readonly<Record<string, Load>>): Cost =>
    servers.length > 0
      ? serverCost(resolved, servers, loads, gpu, count * price)
      : serviceCost(policies, loads, prices);
  const missing = policies.filter(({ isHere }) => !isHere).map(({ model }) => model);
  return {
    recipe: recipe.name,
    gpu,
    dollarsPerHour: price,
    servers,
    policies,
    loads: most.policies,
    gpus: count,
    atMost: costOf(most.policies),
    typical: costOf(typical.policies),
    prices,
    assumptions: [
      ...most.assumptions,
      ...new Set(missing.map((model) => `${model} is not here: its published size is used`)),
    ],
    warnings: most.warnings,
  };
}

function known(
  name: string,
  { model }: Recipe["policies"][string],
  planned: PlannedPolicy | null,
  isHere: boolean,
): PlannedPolicy {
  if (planned !== null) return planned;
  const given = "path" in model ? model.path : "NAME";
  // Where a server has the weights, a plan reads neither them nor templates of other formats.
  const files = isHere ? "" : " config.json generation_config.json tokenizer.json tokenizer_config.json";
  const place = isHubName(given) ? join("models", basename(given)) : given;
  const id = isHubName(given) ? given : `OWNER/${basename(given)}`;
  const problem = `The size of the model of policy ${name} is not known`;
  const why =
    place === given
      ? `${problem}: ${given} has no config.json. A model of the hub comes there with`
      : `${problem}:`;
  const next = place === given ? "" : `, then \`policies.${name}.model.path=${place}\``;
  throw new TroupeError("bad_recipe", `${why} \`hf download ${id}${files} --local-dir ${place}\`${next}.`);
}

function serversOf(
  { recipe, algorithm, configuredEngine: { servers } }: ResolvedRecipe,
  policies: readonly PlannedPolicy[],
  loads: Readonly<Record<string, Load>>,
  gpu: GpuName,
): readonly PlannedServer[] {
  if (servers?.startedBy !== "cluster") return [];
  const kind = servers.software as ServerKind;
  const urlOf = ({ name }: PlannedPolicy): string => servers.urlOf(name);
  const urls = [...new Set(policies.map(urlOf))];
  return urls.map((url) => {
    const served = policies.filter((policy) => urlOf(policy) === url);
    const longest = Math.max(...served.map(({ name }) => loads[name]?.longest ?? 0));
    const [first] = served;
    const size = serverSize(served, longest, gpus[gpu], true);
    if (!Number.isFinite(size.gpus)) throw tooLong(longest, size, gpu);
    return {
      url,
      kind,
      name: urls.length === 1 ? recipe.name : `${recipe.name}-${first?.name ?? ""}`,
      model: modelNames(served, servers),
      policies: served,
      models: needsInitialPolicies(algorithm) ? 2 * served.length : served.length,
      size,
    };
  });
}

/** Weights can be divided among GPUs, a sequence that is trained on cannot. */
function tooLong(longest: number, { gpuBytes }: ServerSize, gpu: GpuName): TroupeError {
  return new TroupeError(
    "bad_recipe",
    `Training on a sequence of ${showCount(longest)} tokens takes ${showBytes(gpuBytes)} of one GPU, however many there ` +
      `are; the ${gpus[gpu].title} has too little. Use shorter actions (maxTokens) or GPUs with more memory (--gpu).`,
  );
}

/** @throws TroupeError `bad_recipe` if one server would need several models */
function modelNames(policies: readonly PlannedPolicy[], servers: EngineServers): string {
  const all = new Set(policies.map(({ directory }) => servers.modelName(directory)));
  const [first = ""] = all;
  if (all.size <= 1) return first;
  throw new TroupeError(
    "bad_recipe",
    `A server has one model, not ${[...all].join(" and ")}: give each policy its own in engine.servers.`,
  );
}

function priceOf(
  { configuredEngine: { servers } }: ResolvedRecipe,
  directory: string,
): readonly [string, TokenPrice | undefined] {
  const name = servers?.modelName(directory) ?? directory;
  return [name, tokenPrice(name)];
}

function serverCost(
  { recipe, environment }: ResolvedRecipe,
  servers: readonly PlannedServer[],
  loads: Readonly<Record<string, Load>>,
  gpu: GpuName,
  perHour: number,
): Cost {
  const each = servers.map(({ policies, size }) => {
    const loaded = policies.flatMap((policy) => {
      const load = loads[policy.name];
      return load === undefined ? [] : [{ policy, load }];
    });
    return hoursOf(loaded, size, gpus[gpu]);
  });
  const [{ team }] = namedTeams(recipe, environment);
  const hours = runHours(each, recipe.train.steps, actTogether(team, servers));
  return { hours, dollars: hours.total * perHour };
}

/** Whether a phase has roles of every server. */
function actTogether({ phases, roles }: Team, servers: readonly PlannedServer[]): boolean {
  return phases.some((phase) => {
    const acting = roles.filter(({ name }) => phase.includes(name)).map(({ policy }) => policy);
    return servers.every(({ policies }) => policies.some(({ name }) => acting.includes(name)));
  });
}

function serviceCost(
  policies: readonly PlannedPolicy[],
  loads: Readonly<Record<string, Load>>,
  prices: ClusterPlan["prices"],
): Cost {
  let dollars = 0;
  for (const [index, { name }] of policies.entries()) {
    const price = prices[index]?.[1];
    const load = loads[name];
    if (price === undefined || load === undefined) return {};
    dollars += tokenDollars(load, price);
  }
  return { dollars };
}
