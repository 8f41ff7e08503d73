/**
 * Models besides the policies: references and critics, which start from the policies as they are when reinforcement
 * starts.
 *
 * A reference is a frozen copy; a KL term in the reward or in the loss keeps the trained policy close to it. A critic is
 * a model with a value head, one per trained role, or a central one that sees the prompts of all roles of a phase. It
 * starts with a zero head.
 */
import fs from "node:fs/promises";
import type { CriticTerm } from "../credit/algorithm.ts";
import { criticName } from "../credit/critics.ts";
import { needsInitialPolicies } from "../credit/kl.ts";
import type { Engine, PolicyOptions, SavedPolicy, StoredPolicy } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { isPresent } from "../present.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { CheckpointState } from "../runs/checkpoint-state.ts";
import { writeDirectoryDurably } from "../runs/durable.ts";
import type { RunLayout } from "../runs/layout.ts";
import { restorePolicies, savePolicies } from "./policies.ts";
import type { ReinforcementState, Run } from "./state.ts";
import { mayReturn } from "./watch.ts";

/** Creates references and critics in the engine; those of a resumed run are restored. */
export async function openReinforcement(run: Run): Promise<ReinforcementState> {
  const { engine, algorithm, stage, folder } = run;
  const { layout, checkpoint } = folder;
  const { trained } = stage;
  const critics = criticsOf(stage.recipe, algorithm.critic);
  const resumed = checkpoint?.state.reinforcement;
  const returns = mayReturn(run.recipe);
  const isNeeded = needsInitialPolicies(algorithm) || critics.length > 0 || returns;
  const beginning = isNeeded
    ? await beginningOf(engine, trained, layout, resumed, returns ? trained : new Set())
    : {};
  const beginningAt = (policy: string) => beginningOfPolicy(run, beginning, policy);
  // That of an adapter shares the policy's base: a whole model for a whole model, an adapter for an adapter.
  if (needsInitialPolicies(algorithm))
    for (const policy of trained)
      await engine.createPolicy({ name: referenceName(policy), ...beginningAt(policy) });
  for (const { name, policy } of critics)
    await engine.createPolicy({ name, ...beginningAt(policy), valueHead: true });
  if (checkpoint !== null && resumed !== undefined)
    await restorePolicies(engine, checkpoint.directory, resumed.critics);
  const { klCoefficients = {}, baselines = {}, sampledTokens = 0, tasks = 0, scores } = resumed ?? {};
  return { beginning, klCoefficients, baselines, sampledTokens, tasks, scores };
}

/** A policy's model, and its weights at the start of reinforcement. */
function beginningOfPolicy(
  { stage: { policies }, folder: { layout } }: Pick<Run, "stage" | "folder">,
  beginning: ReinforcementState["beginning"],
  policy: string,
): Pick<PolicyOptions, "model" | "from"> {
  const [opened, saved] = [policies[policy], beginning[policy]];
  if (opened === undefined || saved === undefined)
    throw new TroupeError("internal", `nothing was saved of ${policy} at the start of reinforcement`);
  return { model: opened.model, from: { saved, folder: layout.beginning } };
}

/** @param stored weights and moments of each; null: as they were at the start of reinforcement */
export async function reopenCritics(
  run: Run,
  { beginning }: ReinforcementState,
  stored: Readonly<Record<string, StoredPolicy>> | null,
): Promise<void> {
  const { engine, algorithm, stage } = run;
  for (const { name, policy } of criticsOf(stage.recipe, algorithm.critic)) {
    const saved = stored?.[name];
    if (saved !== undefined) await engine.restore(name, saved);
    else {
      await engine.removePolicy(name);
      await engine.createPolicy({ name, ...beginningOfPolicy(run, beginning, policy), valueHead: true });
    }
  }
}

/** A reference's name in the engine. */
export function referenceName(policy: string): string {
  return `reference-${policy}`;
}

/** A planned critic: its name in the engine, and the policy whose model it is made from. */
export interface Critic {
  readonly name: string;
  readonly policy: string;
}

/** The critics of the trained roles; a central one is made from the first role's policy. */
export function criticsOf({ team }: Pick<Recipe, "team">, term: CriticTerm | null): readonly Critic[] {
  if (term === null) return [];
  const critics = new Map<string, Critic>();
  for (const [role, { frozen, policy }] of Object.entries(team.roles)) {
    const name = criticName(role, term);
    if (!frozen && !critics.has(name)) critics.set(name, { name, policy });
  }
  return [...critics.values()];
}

/** Saves the critics in a checkpoint's folder. */
export async function saveReinforcement(
  { engine, algorithm, stage, batches }: Run,
  state: ReinforcementState,
  folder: string,
): Promise<NonNullable<CheckpointState["reinforcement"]>> {
  const names = criticsOf(stage.recipe, algorithm.critic).map(({ name }) => name);
  const critics = await savePolicies(engine, folder, names, new Set(names));
  return { critics, ...state, ...(await batches?.save(folder)) };
}

/**
 * The current trained policies, saved in the run's folder: a resumed run needs exactly these.
 * @param learning those saved with their optimizer, to continue from there
 */
async function beginningOf(
  engine: Engine,
  trained: ReadonlySet<string>,
  { beginning, checkpoints }: RunLayout,
  resumed: CheckpointState["reinforcement"],
  learning: ReadonlySet<string>,
): Promise<Readonly<Record<string, SavedPolicy>>> {
  if (resumed !== undefined) {
    // A run that was not to return when it began has none.
    if (Object.keys(resumed.beginning).length === 0) return {};
    await requireBeginning(beginning, checkpoints);
    return resumed.beginning;
  }
  await fs.rm(beginning, { recursive: true, force: true });
  let saved: Record<string, SavedPolicy> = {};
  await writeDirectoryDurably(beginning, async (folder) => {
    saved = await savePolicies(engine, folder, trained, learning);
  });
  return saved;
}

async function requireBeginning(beginning: string, checkpoints: string): Promise<void> {
  if (await isPresent(beginning)) return;
  throw new TroupeError(
    "bad_run",
    `${beginning} is missing: it has the policies at the start of reinforcement. Restore it, or remove the ` +
      `folders in ${checkpoints} made since then to restart reinforcement.`,
  );
}
