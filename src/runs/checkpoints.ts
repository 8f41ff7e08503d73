/**
 * Checkpoints: folders named `step-N` that hold one model directory and one optimizer file per policy and a state.json.
 * A checkpoint has its name only when it is whole.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { removeDirectory, removeTemporaries, writeDirectoryDurably, writeFileDurably } from "./durable.ts";
import { checkpointStateSchema } from "./records.ts";
import type { CheckpointState } from "./records.ts";

export interface Checkpoint {
  readonly directory: string;
  readonly state: CheckpointState;
}

/** Writes `step-N`; `fill` writes the files that the state names. A checkpoint that exists already is left alone. */
export async function writeCheckpoint(
  checkpoints: string,
  state: CheckpointState,
  fill: (directory: string) => Promise<void>,
): Promise<Checkpoint> {
  const directory = checkpointDirectory(checkpoints, state.step);
  if (!(await exists(directory))) {
    await writeDirectoryDurably(directory, async (temporary) => {
      await fill(temporary);
      await writeFileDurably(path.join(temporary, "state.json"), `${JSON.stringify(state, null, 2)}\n`);
    });
  }
  return { directory, state };
}

/** The steps that have a checkpoint, in ascending order. */
export async function checkpointSteps(checkpoints: string): Promise<number[]> {
  const names = await fs.readdir(checkpoints).catch(() => []);
  const matches = names.map((name) => /^step-(\d+)$/.exec(name)).filter((match) => match !== null);
  return matches.map((match) => Number(match[1])).toSorted((left, right) => left - right);
}

/** Null: there is no checkpoint. Throws `bad_run` where the newest one is damaged. */
export async function latestCheckpoint(checkpoints: string): Promise<Checkpoint | null> {
  const step = (await checkpointSteps(checkpoints)).at(-1);
  return step === undefined ? null : readCheckpoint(checkpointDirectory(checkpoints, step));
}

/** Throws `bad_run` where the state or a file that it names is missing or damaged. */
export async function readCheckpoint(directory: string): Promise<Checkpoint> {
  const state = await readState(directory);
  const saved = [...Object.values(state.policies), ...Object.values(state.reinforcement?.critics ?? {})];
  const files = saved.flatMap(({ model, optimizer }) => [model, optimizer]);
  for (const file of files.filter((name) => name !== null)) {
    if (!(await exists(path.join(directory, file)))) throw damaged(directory, `${file} is missing`);
  }
  return { directory, state };
}

/** Deletes all but the newest `keep` checkpoints. */
export async function pruneCheckpoints(checkpoints: string, keep: number): Promise<void> {
  const steps = await checkpointSteps(checkpoints);
  for (const step of steps.slice(0, -keep)) await removeDirectory(checkpointDirectory(checkpoints, step));
  await removeTemporaries(checkpoints);
}

export function checkpointDirectory(checkpoints: string, step: number): string {
  return path.join(checkpoints, `step-${step}`);
}

async function readState(directory: string): Promise<CheckpointState> {
  try {
    const text = await fs.readFile(path.join(directory, "state.json"), "utf8");
    return checkpointStateSchema.parse(JSON.parse(text));
  } catch (error) {
    throw damaged(directory, "state.json is missing or is not what Troupe wrote", error);
  }
}

function damaged(directory: string, what: string, cause?: unknown): TroupeError {
  return new TroupeError(
    "bad_run",
    `The checkpoint ${directory} is damaged: ${what}. Remove that folder to go on from the checkpoint before it.`,
    { cause },
  );
}

async function exists(target: string): Promise<boolean> {
  return (await fs.stat(target).catch(() => null)) !== null;
}
