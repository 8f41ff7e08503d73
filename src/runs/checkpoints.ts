/**
 * Checkpoints: folders `step-N` that hold a state.json and what the engine saved of each policy (for an engine on this
 * machine one model directory and one optimizer file). A checkpoint gets its name only once it is complete.
 */
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { cannotRead, isPresent, isUnreadable, namesIn } from "../present.ts";
import { digestOfText, digestsOf, firstDifference } from "./digests.ts";
import { removeDirectory, removeTemporaries, writeDirectoryDurably, writeFileDurably } from "./durable.ts";
import { checkpointStateSchema } from "./checkpoint-state.ts";
import { readRegular } from "./regular.ts";
import type { CheckpointState } from "./checkpoint-state.ts";

export interface Checkpoint {
  readonly directory: string;
  readonly state: CheckpointState;
}

/** Writes `step-N`; `fill` saves the policies there and returns the state. An existing checkpoint is kept. */
export async function writeCheckpoint(
  checkpoints: string,
  step: number,
  fill: (directory: string) => Promise<Omit<CheckpointState, "files" | "digest">>,
): Promise<Checkpoint> {
  const directory = checkpointDirectory(checkpoints, step);
  if (!(await isPresent(directory))) {
    await writeDirectoryDurably(directory, async (temporary) => {
      const state = { ...(await fill(temporary)), files: await digestsOf(temporary) };
      const written = signed(JSON.parse(JSON.stringify(state)) as JsonObject);
      await writeFileDurably(path.join(temporary, "state.json"), `${JSON.stringify(written, null, 2)}\n`);
    });
  }
  return { directory, state: await readState(directory) };
}

/** The steps that have a checkpoint, in ascending order. */
export async function checkpointSteps(checkpoints: string): Promise<number[]> {
  const names = await namesIn(checkpoints);
  const matches = names.map((name) => /^step-(\d+)$/.exec(name)).filter((match) => match !== null);
  return matches.map((match) => Number(match[1])).toSorted((left, right) => left - right);
}

/** Null: there is no checkpoint. @throws TroupeError `bad_run` if the newest one is damaged */
export async function latestCheckpoint(checkpoints: string): Promise<Checkpoint | null> {
  const step = (await checkpointSteps(checkpoints)).at(-1);
  return step === undefined ? null : readCheckpoint(checkpointDirectory(checkpoints, step));
}

/** That of a step. Null: there is none. */
export async function checkpointOf(checkpoints: string, step: number): Promise<Checkpoint | null> {
  const directory = checkpointDirectory(checkpoints, step);
  return (await isPresent(directory)) ? readCheckpoint(directory) : null;
}

/**
 * @throws TroupeError `bad_run` if the state is invalid or was changed, or a file or directory that it names is missing or
 * changed
 */
export async function readCheckpoint(directory: string): Promise<Checkpoint> {
  const state = await readState(directory);
  const difference = await firstDifference(directory, state.files);
  if (difference !== null) throw await damagedCheckpoint(directory, difference);
  const saved = [...Object.values(state.policies), ...Object.values(state.reinforcement?.critics ?? {})];
  for (const model of saved.flatMap((policy) => policy.directory ?? [])) {
    if (!(await isPresent(path.join(directory, model))))
      throw await damagedCheckpoint(directory, `${model} is missing`);
  }
  return { directory, state };
}

/** Deletes all but the newest `keep` checkpoints and the best one, if there is one. */
export async function pruneCheckpoints(
  checkpoints: string,
  keep: number,
  best: number | null,
): Promise<void> {
  const steps = (await checkpointSteps(checkpoints)).slice(0, -keep);
  for (const step of steps.filter((other) => other !== best))
    await removeDirectory(checkpointDirectory(checkpoints, step));
  await removeTemporaries(checkpoints);
}

function checkpointDirectory(checkpoints: string, step: number): string {
  return path.join(checkpoints, `step-${step}`);
}

async function readState(directory: string): Promise<CheckpointState> {
  const file = path.join(directory, "state.json");
  let written: JsonObject;
  let state: CheckpointState;
  try {
    written = JSON.parse((await readRegular(file)).toString("utf8")) as JsonObject;
    state = checkpointStateSchema.parse(written);
  } catch (error) {
    if (isUnreadable(error)) throw cannotRead(file, error);
    throw await damagedCheckpoint(directory, "state.json is missing or invalid", error);
  }
  if (path.basename(directory) !== `step-${state.step}`)
    throw await damagedCheckpoint(directory, `state.json is of step ${state.step}`);
  if (signed(written)["digest"] !== state.digest)
    throw await damagedCheckpoint(directory, "state.json was changed");
  return state;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** With a digest of all else in it. @param written as JSON has it */
function signed(written: JsonObject): JsonObject {
  const { digest: _, ...rest } = written;
  return { ...rest, digest: digestOfText(JSON.stringify(rest)) };
}

/** A `bad_run` error with what to do. @param what is wrong */
export async function damagedCheckpoint(
  directory: string,
  what: string,
  cause?: unknown,
): Promise<TroupeError> {
  const fix = await repairOf(path.dirname(directory), Number(/step-(\d+)$/.exec(directory)?.[1]));
  return new TroupeError("bad_run", `The checkpoint ${directory} is damaged: ${what}. ${fix}.`, { cause });
}

/** A run resumes from its newest checkpoint: an older one, such as the best, can go. */
async function repairOf(checkpoints: string, step: number): Promise<string> {
  const steps = await checkpointSteps(checkpoints);
  const newest = Math.max(...steps);
  if (newest > step && (await isWhole(checkpointDirectory(checkpoints, newest)))) return "Remove that folder";
  const before = steps.findLast((other) => other < step);
  if (before === undefined) return "There is no earlier one; remove the run's folder to start over";
  return `Remove that folder to resume from step-${before}`;
}

async function isWhole(directory: string): Promise<boolean> {
  try {
    await readCheckpoint(directory);
    return true;
  } catch {
    return false;
  }
}
