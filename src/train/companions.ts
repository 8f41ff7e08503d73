/** What reinforcement needs beside the policies: references, critics, and what is carried from step to step. */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import type { Checkpoint } from "../runs/checkpoints.ts";
import { writeDirectoryDurably } from "../runs/durable.ts";
import type { RunLayout } from "../runs/layout.ts";
import type { CheckpointState } from "../runs/records.ts";
import { criticsOf, openCritics } from "./critics.ts";
import type { Critic } from "./critics.ts";
import { restorePolicies, savePolicy } from "./policies.ts";
import type { OpenPolicies } from "./policies.ts";
import { openReferences } from "./references.ts";
import type { Session } from "./session.ts";

export interface Companions {
  readonly critics: readonly Critic[];
  readonly carried: Carried;
}

/** What one step of reinforcement leaves to the next, besides weights and moments. */
export interface Carried {
  /** β by policy, of algorithms with a KL term. */
  readonly klCoefficients: Readonly<Record<string, number>>;
  /** Since reinforcement began. */
  readonly sampledTokens: number;
  readonly tasks: number;
}

/**
 * Makes references and critics in the engine; those of a run that goes on are brought back as they were.
 * @param checkpoint Of this stage or of the warm start before it; null: the run begins with reinforcement.
 */
export async function openCompanions(
  session: Session & { readonly opened: OpenPolicies },
  layout: RunLayout,
  checkpoint: Checkpoint | null,
): Promise<Companions> {
  const { engine, algorithm, recipe, trained } = session;
  const critics = criticsOf(recipe, algorithm.critic);
  const saved = checkpoint?.state.reinforcement;
  if (algorithm.kl !== null || critics.length > 0) {
    await (saved === undefined ? keepBeginning(session, layout) : requireBeginning(layout));
  }
  if (algorithm.kl !== null) await openReferences(engine, trained, layout.beginning);
  await openCritics(engine, critics, layout.beginning);
  if (checkpoint !== null && saved !== undefined)
    await restorePolicies(engine, checkpoint.directory, saved.critics);
  const { klCoefficients = {}, sampledTokens = 0, tasks = 0 } = saved ?? {};
  return { critics, carried: { klCoefficients, sampledTokens, tasks } };
}

/** Names of a checkpoint's files, and the numbers, that bring the companions back. */
export function companionState({ critics, carried }: Companions): CheckpointState["reinforcement"] {
  const files = critics.map(({ name }) => [name, { model: name, optimizer: `${name}.optimizer` }]);
  return { critics: Object.fromEntries(files), ...carried };
}

/** The trained policies as they are now, in the run's folder: a resumed run must find the very same. */
async function keepBeginning(
  { engine, opened, trained }: Session & { readonly opened: OpenPolicies },
  { beginning }: RunLayout,
): Promise<void> {
  await fs.rm(beginning, { recursive: true, force: true });
  await writeDirectoryDurably(beginning, async (folder) => {
    for (const name of trained) await savePolicy(engine, name, path.join(folder, name), opened[name]?.source);
  });
}

async function requireBeginning({ beginning, checkpoints }: RunLayout): Promise<void> {
  if ((await fs.stat(beginning).catch(() => null)) !== null) return;
  throw new TroupeError(
    "bad_run",
    `${beginning} is missing: it held the policies as they were when reinforcement began. Restore it, or remove the ` +
      `folders in ${checkpoints} that were made since, to begin reinforcement anew.`,
  );
}
