/**
 * What a run will hold in memory, before it does: weights, gradients, moments, activations, keys and values. The dry run
 * shows it, and a run that clearly cannot fit is rejected before its first step.
 */
import os from "node:os";
import type { BatchSize, Datum, Engine, ProcessMemory } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { showBytes } from "../format.ts";
import { keyAt, rootKey } from "../random.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { agentOf, type Agent } from "../rollout/setting.ts";
import { sum } from "../statistics.ts";
import { auxiliaryBytes } from "./estimate.ts";
import { startsOf } from "./estimate-episode.ts";
import type { OpenPolicies } from "./policies.ts";
import { examplesOf } from "./sft.ts";
import type { Resolved, Run } from "./state.ts";
import { basesOf, type NamedTeam } from "./teams.ts";

type Recipe = Pick<Resolved, "recipe" | "environment" | "algorithm">;

/** Number of tasks whose prompts are measured. */
const sampledTasks = 16;

/**
 * By task, the typical data of a few of them: a solver's actions if there is a solver; otherwise episodes are started, and
 * actions have the maximum length.
 */
export async function typicalData(
  recipe: Pick<Recipe, "environment">,
  teams: readonly NamedTeam[],
  policies: OpenPolicies,
): Promise<readonly (readonly Datum[])[]> {
  const { environment } = recipe;
  if (environment.oracle?.demonstrations !== undefined) return demonstrated(recipe, teams, policies);
  const starts = await startsOf(environment, sampledTasks);
  return starts.map((state) =>
    actionsOf(environment, teams, policies, (agent) => {
      const { role, maxLength } = agent;
      const prompt = promptHistory(agent, new Map(), environment.observe(state, role.seat), 0).tokens;
      return { prompt, room: Math.max(1, Math.min(role.maxTokens, maxLength - prompt.length)) };
    }),
  );
}

/**
 * The same without starting episodes, which may open sessions elsewhere, or wait: without a solver, actions of a token each.
 * What they hold is then left out, and only weights, gradients and moments count.
 */
function certainData(
  recipe: Pick<Recipe, "environment">,
  teams: readonly NamedTeam[],
  policies: OpenPolicies,
): readonly (readonly Datum[])[] {
  const { environment } = recipe;
  if (environment.oracle?.demonstrations !== undefined) return demonstrated(recipe, teams, policies);
  return [actionsOf(environment, teams, policies, () => ({ prompt: new Int32Array(1), room: 1 }))];
}

function demonstrated(
  { environment }: Pick<Recipe, "environment">,
  teams: readonly NamedTeam[],
  policies: OpenPolicies,
): readonly (readonly Datum[])[] {
  const setting = { environment, teams: teams.map(({ team }) => team), policies, isTrained: () => true };
  return Array.from({ length: sampledTasks }, (_, index) =>
    examplesOf(setting, keyAt(rootKey(0), "dry-run", index)),
  );
}

/** One action of each role. */
function actionsOf(
  environment: Resolved["environment"],
  teams: readonly NamedTeam[],
  policies: OpenPolicies,
  lengths: (agent: Agent) => { readonly prompt: Int32Array; readonly room: number },
): readonly Datum[] {
  return teams.flatMap(({ team }) =>
    team.roles.map((role) => {
      const { prompt, room } = lengths(agentOf({ environment, team, policies }, role.name));
      return { policy: role.policy, prompt, continuations: [{ tokens: new Int32Array(room) }] };
    }),
  );
}

/** Each action as often as a group has samples. */
export function inGroups(
  data: readonly (readonly Datum[])[],
  { sampling }: Resolved["algorithm"],
): readonly (readonly Datum[])[] {
  const size = Math.max(sampling.branch.root, sampling.branch.inner);
  return data.map((own) =>
    own.map((datum) => ({
      ...datum,
      continuations: Array.from(
        { length: size },
        () => datum.continuations[0] ?? { tokens: new Int32Array(1) },
      ),
    })),
  );
}

/** In bytes. */
export interface NeededMemory {
  /** Of this process and the engine's own, at their peak; without a prediction, what is held now. */
  readonly memory: number;
  /** The same of a GPU; null: none computes, or it is not known. */
  readonly deviceMemory: number | null;
  /** Whether the engine predicts it. */
  readonly memoryIsPredicted: boolean;
  /** What both processes hold now. */
  readonly heldMemory: number;
  /** What they may take in addition. */
  readonly freeMemory: number;
}

/**
 * Of a step with these data of a few of its tasks. Call before the first step: the processes then hold weights and no more.
 */
export async function neededMemory(
  engine: Engine,
  resolved: Recipe,
  policies: OpenPolicies,
  data: readonly (readonly Datum[])[],
): Promise<NeededMemory> {
  const sizes = Object.fromEntries(
    Object.entries(policies).map(([name, policy]) => [name, { ...policy, ...policy.info }]),
  );
  const predicted = await engine.predictMemory?.(sizeOfStep(data, resolved.recipe.train.tasksPerStep));
  const own = process.memoryUsage.rss();
  const held = own + (engine.processMemory?.host ?? 0);
  return {
    ...memoryOf(own, predicted, auxiliaryBytes(resolved, sizes)),
    memoryIsPredicted: predicted !== undefined,
    heldMemory: held,
    freeMemory: freeMemory(held),
  };
}

/** @param auxiliary bytes of critics and references, which are where the policies are */
export function memoryOf(
  own: number,
  predicted: ProcessMemory | undefined,
  auxiliary: number,
): Pick<NeededMemory, "memory" | "deviceMemory"> {
  if (predicted === undefined) return { memory: own, deviceMemory: null };
  const { host, device } = predicted;
  if (device === undefined) return { memory: own + host + auxiliary, deviceMemory: null };
  return { memory: own + host, deviceMemory: device + auxiliary };
}

/**
 * Only Linux says what is available beside caches of files; a container counts such caches as used. So a container's
 * limit, and the whole memory elsewhere, count less what these processes hold.
 */
function freeMemory(held: number): number {
  const limit = Math.min(os.totalmem(), process.constrainedMemory() || Infinity);
  return Math.max(0, Math.min(limit - held, process.platform === "linux" ? os.freemem() : Infinity));
}

/** From the tasks that were measured to all of a step. */
function sizeOfStep(data: readonly (readonly Datum[])[], tasks: number): BatchSize {
  const measured = data.slice(0, tasks);
  const { longest, ...size } = sizeOf(measured.flat());
  const times = (count: number) => Math.ceil((count * tasks) / measured.length);
  const { tokens, prompts, sequences } = size;
  return { longest, tokens: times(tokens), prompts: times(prompts), sequences: times(sequences) };
}

function sizeOf(data: readonly Datum[]): BatchSize {
  const policies = [...Map.groupBy(data, (datum) => datum.policy).values()];
  const largest = policies.toSorted((one, other) => tokensIn(other) - tokensIn(one))[0] ?? [];
  const lengths = data.map(
    ({ prompt, continuations }) =>
      prompt.length + Math.max(...continuations.map((each) => each.tokens.length)),
  );
  const sequences = sum(data.map(({ continuations }) => continuations.length));
  const prompts = sum(largest.map(({ prompt }) => prompt.length));
  return { tokens: tokensIn(largest), prompts, longest: Math.max(...lengths), sequences };
}

/** A prompt counts once. */
export function tokensIn(data: readonly Datum[]): number {
  return sum(
    data.map(
      ({ prompt, continuations }) => prompt.length + sum(continuations.map((each) => each.tokens.length)),
    ),
  );
}

/** Predictions were up to 15 % above the peaks that were measured: only what is further above cannot fit. */
const margin = 1.25;

/** What is needed, what there is, and what to change; null if it fits. */
export function memoryShortage({
  memory,
  memoryIsPredicted,
  heldMemory: held,
  freeMemory: free,
}: NeededMemory): {
  readonly fits: boolean;
  readonly problem: string;
  readonly fix: string;
} | null {
  if (!memoryIsPredicted || memory <= held + free) return null;
  const parts = "weights, gradients, moments, activations, keys and values";
  const needed = `run needs about ${showBytes(memory)} of memory (${parts})`;
  return {
    fits: memory <= margin * (held + free),
    problem: `${needed}; it holds ${showBytes(held)} already, and ${showBytes(free)} are free`,
    fix: "take a smaller model, fewer tasks in a step, smaller groups or shorter actions, or end other programs",
  };
}

/**
 * Compares what the stage needs with what there is. A run that has a checkpoint is only warned: it has fitted before.
 * @throws TroupeError `no_memory` if it clearly does not fit
 */
export async function checkMemory(run: Run): Promise<void> {
  const { recipe, algorithm, engine, stage, folder, emit } = run;
  if (engine.predictMemory === undefined || stage.trained.size === 0) return;
  const data = certainData(run, stage.teams, stage.policies);
  const isOfBases = run.bases === undefined && basesOf(recipe).size > 0;
  const needed = await neededMemory(
    engine,
    run,
    stage.policies,
    isOfBases ? data : inGroups(data, algorithm),
  );
  const shortage = memoryShortage(needed);
  if (shortage === null) return;
  const { problem, fix, fits } = shortage;
  if (!fits && folder.checkpoint === null) throw new TroupeError("no_memory", `The ${problem}; ${fix}.`);
  emit({ type: "warning", key: "train.tasksPerStep", problem: `the ${problem}`, fix });
}
