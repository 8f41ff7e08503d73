/** Auxiliary models (references and critics) and other state of reinforcement besides the policies. */
import { needsInitialPolicies } from "../credit/kl/initial.ts";
import fs from "node:fs/promises";
import type { Algorithm } from "../credit/algorithm.ts";
import type { Engine, PolicyOptions, SavedPolicy } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { isPresent } from "../present.ts";
import type { ScoreStatistics } from "../judges/normalise.ts";
import type { Recipe } from "../recipes/schema.ts";
import type { Checkpoint } from "../runs/checkpoints.ts";
import { writeDirectoryDurably } from "../runs/durable.ts";
import type { RunLayout } from "../runs/layout.ts";
import type { CheckpointState } from "../runs/checkpoint-state.ts";
import { criticsOf, openCritics } from "./critics.ts";
import type { Critic } from "./critics.ts";
import { restorePolicies, savePolicies } from "./policies.ts";
import type { OpenPolicies } from "./policies.ts";
import { openReferences } from "./references.ts";

export interface AuxiliaryModels {
  readonly critics: readonly Critic[];
  /** The trained policies at the start of reinforcement, if references or critics start from them. */
  readonly beginning: Readonly<Record<string, SavedPolicy>>;
  readonly carried: Carried;
}

/** State that one step of reinforcement passes to the next, besides weights and moments. */
export interface Carried {
  /** β by policy, of algorithms with a KL term. */
  readonly klCoefficients: Readonly<Record<string, number>>;
  /** Since the start of reinforcement. */
  readonly sampledTokens: number;
  readonly tasks: number;
  /** Of the judge, if its scores are normalised. Absent: none yet. */
  readonly scores?: ScoreStatistics | undefined;
}

/** The start of reinforcement. */
interface Beginning {
  readonly engine: Engine;
  readonly algorithm: Algorithm;
  readonly team: Recipe["team"];
  readonly policies: OpenPolicies;
  /** Names of the policies it trains. */
  readonly trained: ReadonlySet<string>;
}

/**
 * Creates references and critics in the engine; those of a resumed run are restored.
 * @param checkpoint Of this stage or of the warm start before it; null: the run starts with reinforcement.
 */
export async function openAuxiliaryModels(
  { engine, algorithm, team, policies, trained }: Beginning,
  layout: RunLayout,
  checkpoint: Checkpoint | null,
): Promise<AuxiliaryModels> {
  const critics = criticsOf({ team }, algorithm.critic);
  const resumed = checkpoint?.state.reinforcement;
  const isNeeded = needsInitialPolicies(algorithm) || critics.length > 0;
  const beginning = isNeeded ? await beginningOf(engine, trained, layout, resumed) : {};
  const beginningAt = (policy: string): Pick<PolicyOptions, "model" | "from"> => {
    const [opened, saved] = [policies[policy], beginning[policy]];
    if (opened === undefined || saved === undefined)
      throw new TroupeError("internal", `nothing was saved of ${policy} at the start of reinforcement`);
    return { model: opened.model, from: { saved, folder: layout.beginning } };
  };
  if (needsInitialPolicies(algorithm)) await openReferences(engine, trained, beginningAt);
  await openCritics(engine, critics, beginningAt);
  if (checkpoint !== null && resumed !== undefined)
    await restorePolicies(engine, checkpoint.directory, resumed.critics);
  const { klCoefficients = {}, sampledTokens = 0, tasks = 0, scores } = resumed ?? {};
  return { critics, beginning, carried: { klCoefficients, sampledTokens, tasks, scores } };
}

/** Saves the critics in a checkpoint's folder. */
export async function saveAuxiliaryModels(
  engine: Engine,
  folder: string,
  { critics, beginning, carried }: AuxiliaryModels,
): Promise<NonNullable<CheckpointState["reinforcement"]>> {
  const names = critics.map(({ name }) => name);
  const saved = await savePolicies(engine, folder, names, new Set(names));
  return { critics: saved, beginning, ...carried };
}

/** The current trained policies, saved in the run's folder: a resumed run needs exactly these. */
async function beginningOf(
  engine: Engine,
  trained: ReadonlySet<string>,
  { beginning, checkpoints }: RunLayout,
  resumed: CheckpointState["reinforcement"],
): Promise<Readonly<Record<string, SavedPolicy>>> {
  if (resumed !== undefined) {
    await requireBeginning(beginning, checkpoints);
    return resumed.beginning;
  }
  await fs.rm(beginning, { recursive: true, force: true });
  let saved: Record<string, SavedPolicy> = {};
  await writeDirectoryDurably(beginning, async (folder) => {
    saved = await savePolicies(engine, folder, trained, new Set());
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
