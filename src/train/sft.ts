/**
 * Supervised fine-tuning (SFT): the steps of the warm start, on generated demonstrations, so that reinforcement starts
 * from a policy that can act. A demonstration becomes the prompt that a role would see, and the tokens it should write.
 */
import type { Continuation, Datum } from "../engines/engine.ts";
import type { Demonstration, Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { childKey, keyAt, type Key } from "../random.ts";
import type { Recipe } from "../recipes/schema.ts";
import { promptHistory } from "../rollout/prompts.ts";
import { agentOf } from "../rollout/setting.ts";
import type { Agent, RolloutPolicy } from "../rollout/setting.ts";
import { schemaVersion } from "../runs/records.ts";
import type { PolicyMetrics } from "../runs/records.ts";
import { settleAll } from "../settle.ts";
import type { Role, Team } from "../teams/team.ts";
import { timed } from "../timed.ts";
import { recordStep } from "./recorder.ts";
import type { Run } from "./state.ts";
import { sftRoles } from "./teams.ts";
import type { NamedTeam } from "./teams.ts";
import { adamAt, forEachPolicy, updatePolicy } from "./update.ts";

/** One step of the warm start, counted from 1. */
export async function sftStep(run: Run, stageStep: number): Promise<void> {
  run.emit({ type: "phase", phase: "training" });
  const { value: policies, seconds } = await timed(async () => {
    const ready = run.examples;
    const examples = ready?.stageStep === stageStep ? ready.data : examplesAt(run, stageStep);
    const updated = updateAll(run, stageStep, examples);
    await settleAll<unknown>([updated, prepareExamples(run, stageStep + 1)]);
    return await updated;
  });
  const place = { schema_version: schemaVersion, step: stageStep } as const;
  await recordStep(run, {
    metrics: { ...place, stage: "warm-start", stageStep, policies },
    timing: { ...place, what: "warm-start", seconds, training: seconds },
  });
}

/** The next step's examples are made while the engine's threads compute this one's. */
async function prepareExamples(run: Run, stageStep: number): Promise<void> {
  const isLast = stageStep > settingsOf(run.stage.recipe).steps;
  run.examples = isLast ? null : { stageStep, data: examplesAt(run, stageStep) };
}

function examplesAt({ stage, environment, root }: Run, stageStep: number): Datum[] {
  const { recipe, teams, policies } = stage;
  const setup = demonstrationSetup({ recipe, environment }, teams, policies);
  return Array.from({ length: settingsOf(recipe).demonstrationsPerStep }, (_, task) =>
    examplesOf(setup, keyAt(root, "warm-start", stageStep, task)),
  ).flat();
}

function settingsOf({ warmStart }: Recipe): NonNullable<Recipe["warmStart"]> {
  if (warmStart !== undefined) return warmStart;
  throw new TroupeError("internal", "a recipe without a warm start has no such step");
}

function updateAll(
  { engine, interrupts, stage }: Run,
  stageStep: number,
  examples: readonly Datum[],
): Promise<Record<string, PolicyMetrics>> {
  const data = Map.groupBy(examples, (datum) => datum.policy);
  return forEachPolicy(stage.trained, (policy) =>
    updatePolicy(engine, {
      policy,
      loss: { type: "cross_entropy" },
      batches: [weighted(data.get(policy) ?? [])],
      adam: adamAt(settingsOf(stage.recipe), stageStep),
      signal: interrupts.changing,
    }),
  );
}

/** Who is trained in a recipe's warm start. */
export function demonstrationSetup(
  { recipe, environment }: { readonly recipe: Pick<Recipe, "policies">; readonly environment: Environment },
  teams: readonly NamedTeam[],
  policies: DemonstrationSetup["policies"],
): DemonstrationSetup {
  const trained = new Set(
    sftRoles(
      recipe,
      teams.map(({ team }) => team.roles),
    ),
  );
  return {
    environment,
    teams: teams.map(({ team }) => team).filter(({ roles }) => roles.some((role) => trained.has(role))),
    policies,
    isTrained: (role) => trained.has(role),
  };
}

export interface DemonstrationSetup {
  readonly environment: Environment;
  readonly teams: readonly Team[];
  readonly policies: Readonly<Record<string, RolloutPolicy>>;
  readonly isTrained: (role: Role) => boolean;
}

/**
 * The examples of one call of the environment's demonstrations, rendered with the template of play: one datum per
 * policy, with its own roles' seats only. Demonstrations show the whole team at work, even if only some roles are
 * trained: a planner next to a frozen scout must learn to read a route. The common prefix of a policy's prompts (a
 * board's walls) is the datum's prompt, computed once; the rest of each prompt has weight 0, the role's action weight
 * 1. Their loss is cross_entropy.
 */
export function examplesOf(setup: DemonstrationSetup, key: Key): Datum[] {
  const lines = setup.teams.flatMap((team, index) => teamLines(setup, team, childKey(key, index)));
  return [...Map.groupBy(lines, ({ policy }) => policy)].map(([policy, of]) => sharedDatum(policy, of));
}

/** The same examples with weights that turn the sum over a policy's tokens into their mean. */
export function weighted(data: readonly Datum[]): Datum[] {
  const share = 1 / tokensOf(data);
  return data.map((datum) => ({
    ...datum,
    continuations: datum.continuations.map((continuation) => ({
      ...continuation,
      weights: weightsOf(continuation).map((weight) => weight * share),
    })),
  }));
}

/** Trained tokens: those with a weight. */
export function tokensOf(data: readonly Datum[]): number {
  const continuations = data.flatMap((datum) => datum.continuations);
  return continuations.reduce(
    (sum, one) => sum + weightsOf(one).reduce((total, weight) => total + weight, 0),
    0,
  );
}

function weightsOf({ tokens, weights }: Continuation): Float32Array {
  return weights ?? new Float32Array(tokens.length).fill(1);
}

/** A rendered demonstration. */
interface Line {
  readonly policy: string;
  readonly prompt: Int32Array;
  readonly written: Int32Array;
}

/** Prompts of one template share at least their first token, which engines need. */
function sharedDatum(policy: string, lines: readonly Line[]): Datum {
  const first = lines[0]?.prompt ?? new Int32Array();
  const shared = Math.max(1, Math.min(...lines.map(({ prompt }) => commonLength(first, prompt))));
  return {
    policy,
    prompt: first.slice(0, shared),
    continuations: lines.map((line) => continuationOf(line, shared)),
  };
}

function continuationOf({ prompt, written }: Line, shared: number): Continuation {
  const rest = prompt.subarray(shared);
  const weights = new Float32Array(rest.length + written.length).fill(1, rest.length);
  return { tokens: Int32Array.from([...rest, ...written]), weights };
}

function commonLength(a: Int32Array, b: Int32Array): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

function teamLines(setup: DemonstrationSetup, team: Team, key: Key): Line[] {
  const { environment, policies } = setup;
  const { oracle } = environment;
  if (oracle?.demonstrations === undefined) {
    throw new TroupeError("bad_recipe", `warmStart: ${environment.name} has no demonstrations`);
  }
  const agents = team.roles.map((role) => agentOf({ environment, team, policies }, role.name));
  const trained = agents.filter(({ role }) => setup.isTrained(role));
  const demonstrations = oracle.demonstrations(
    key,
    agents.map(({ role }) => role.seat),
  );
  demonstrations.forEach(checkDemonstration);
  return demonstrations.flatMap(({ seat, observation, action }) =>
    trained.filter(({ role }) => role.seat === seat).map((agent) => lineOf(agent, observation, action)),
  );
}

/** A module may be plain JavaScript. @throws TroupeError `bad_environment` */
function checkDemonstration(demonstration: Demonstration, index: number): void {
  for (const part of ["seat", "observation", "action"] as const) {
    if (typeof demonstration[part] === "string") continue;
    throw new TroupeError(
      "bad_environment",
      `Demonstration ${index + 1} (seat ${demonstration.seat}): \`${part}\` is missing or no text. ` +
        "A demonstration needs seat, observation and action.",
    );
  }
}

function lineOf(agent: Agent, observation: string, action: string): Line {
  const { tokenizer, role, maxLength } = agent;
  const prompt = promptHistory(agent, new Map(), observation, 0).tokens;
  const written = Int32Array.from([...tokenizer.encode(action), ...tokenizer.endTokens.slice(0, 1)]);
  if (prompt.length + written.length > maxLength) {
    throw new TroupeError(
      "too_long",
      `A demonstration for role ${role.name} has ${prompt.length + written.length} tokens, but policy ${role.policy} accepts ` +
        `at most ${maxLength}. Use smaller tasks, a shorter prompt, or a model with a longer context.`,
    );
  }
  return { policy: role.policy, prompt, written };
}
