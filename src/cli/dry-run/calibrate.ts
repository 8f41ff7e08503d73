/**
 * Measures this machine with this recipe's models: trains on and samples a few real prompts and actions, in a temporary
 * folder.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Datum, Engine } from "../../engines/engine.ts";
import type { Json } from "../../environments/environment.ts";
import { keyAt, rootKey } from "../../random.ts";
import { openEngine } from "../../engines/open.ts";
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import { promptHistory } from "../../rollout/prompts.ts";
import { agentOf } from "../../rollout/setting.ts";
import type { Estimate } from "../../train/estimate.ts";
import { estimate } from "../../train/estimate.ts";
import { startsOf } from "../../train/estimate-episode.ts";
import { examplesOf } from "../../train/examples.ts";
import type { OpenPolicies } from "../../train/policies.ts";
import { openPolicies } from "../../train/policies.ts";
import type { NamedTeam } from "../../train/teams.ts";

export interface Calibration {
  readonly engine: string;
  readonly estimate: Estimate;
  readonly policies: readonly {
    readonly name: string;
    readonly parameters: number;
    readonly trainable: number;
    /** Of a sequence, in tokens. */
    readonly maxLength: number;
  }[];
  /** Prompt tokens count once per group. */
  readonly tokensPerSecond: {
    readonly supervised: number;
    readonly grouped: number;
    readonly sampled: number;
  };
  /** Peak memory of this process, with weights, gradients and moments, in bytes. */
  readonly memory: number;
}

/** Number of tasks whose prompts are measured. */
const tasks = 16;

export async function calibrate(resolved: ResolvedRecipe, teams: readonly NamedTeam[]): Promise<Calibration> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-dry-run-"));
  const engine = openEngine(resolved.recipe.engine);
  try {
    const opened = await openPolicies(engine, resolved.recipe, resolved.environment, folder);
    return await measure(engine, resolved, teams, opened);
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(
  engine: Engine,
  resolved: ResolvedRecipe,
  teams: readonly NamedTeam[],
  opened: OpenPolicies,
): Promise<Calibration> {
  const { recipe, environment, algorithm } = resolved;
  const sizes = Object.fromEntries(
    Object.entries(opened).map(([name, policy]) => [name, { ...policy, ...policy.info }]),
  );
  const starts = await startsOf(environment, tasks);
  const examples = starts.map((state, index) => typicalActions(environment, teams, opened, { index, state }));
  const data = examples.flat();
  const groupSize = Math.max(algorithm.sampling.branch.root, algorithm.sampling.branch.inner);
  const grouped = data.map((datum) => ({ ...datum, continuations: repeated(datum, groupSize) }));
  const supervised = await rate(tokensIn(data), () => trainOn(engine, data));
  const groups = await rate(tokensIn(grouped), () => trainOn(engine, grouped));
  const sampled = await rate(tokensIn(grouped), () => sampleLike(engine, grouped, recipe.train.temperature));
  return {
    engine: engine.description,
    estimate: await estimate(resolved, sizes),
    policies: Object.values(opened).map(({ info }) => ({
      name: info.name,
      parameters: info.parameters,
      trainable: info.trainableParameters,
      maxLength: info.maxLength,
    })),
    tokensPerSecond: { supervised, grouped: groups, sampled },
    memory: process.resourceUsage().maxRSS * 1024,
  };
}

/** A solver's actions if there is a solver; otherwise actions of maximum length. */
function typicalActions(
  environment: ResolvedRecipe["environment"],
  teams: readonly NamedTeam[],
  policies: OpenPolicies,
  { index, state }: { readonly index: number; readonly state: Json },
): Datum[] {
  const key = keyAt(rootKey(0), "dry-run", index);
  const played = teams.map(({ team }) => team);
  if (environment.oracle?.demonstrations !== undefined) {
    return examplesOf({ environment, teams: played, policies, isTaught: () => true }, key);
  }
  return played.flatMap((team) =>
    team.roles.map((role) => {
      const agent = agentOf({ environment, team, policies }, role.name);
      const prompt = promptHistory(agent, new Map(), environment.observe(state, role.seat), 0).tokens;
      const room = Math.max(1, Math.min(role.maxTokens, agent.maxLength - prompt.length));
      return { policy: role.policy, prompt, continuations: [{ tokens: new Int32Array(room) }] };
    }),
  );
}

function actionLength({ continuations }: Datum): number {
  return continuations[0]?.tokens.length ?? 0;
}

function repeated(datum: Datum, times: number): Datum["continuations"] {
  return Array.from({ length: times }, () => datum.continuations[0] ?? { tokens: new Int32Array(1) });
}

/** Prompts once, all continuations. */
function tokensIn(data: readonly Datum[]): number {
  return data.reduce(
    (sum, datum) => sum + datum.prompt.length + datum.continuations.length * actionLength(datum),
    0,
  );
}

/** The second of two runs: the first also allocates memory and fills caches. Large models run only once. */
async function rate(tokens: number, work: () => Promise<void>): Promise<number> {
  const first = await secondsOf(work);
  const seconds = first > 3 ? first : await secondsOf(work);
  return tokens / seconds;
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

async function trainOn(engine: Engine, data: readonly Datum[]): Promise<void> {
  const adam = { learningRate: 1e-6, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  await engine.forwardBackward(data, { type: "cross_entropy" });
  for (const policy of new Set(data.map((datum) => datum.policy))) await engine.optimStep(policy, adam);
}

async function sampleLike(engine: Engine, data: readonly Datum[], temperature: number): Promise<void> {
  await Promise.all(
    data.map(({ policy, prompt, continuations }, seed) => {
      const maxTokens = continuations[0]?.tokens.length ?? 1;
      return engine.sample({ policy, prompt, count: continuations.length, maxTokens, temperature, seed });
    }),
  );
}
