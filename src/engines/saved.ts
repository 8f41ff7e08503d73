/**
 * Policies in the file system: what to make one of, and how it is saved: a model directory, and for a checkpoint
 * `NAME.optimizer` next to it.
 */
import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import { TroupeError } from "../errors.ts";
import { holdsAdapter } from "../models/adapter-base.ts";
import { checkAdapterConfig, readAdapterOptions } from "../models/adapter-directory.ts";
import { checkAdapterOptions, type AdapterOptions } from "../models/adapter-options.ts";
import { writeSafetensorsDurably, type TensorToWrite } from "../models/safetensors-write.ts";
import { openSafetensors, type TensorInfo, type SafetensorsFile } from "../models/safetensors.ts";
import { checkWeights, type Weights } from "../models/weights.ts";
import { ifPresent, isUnreadable } from "../present.ts";
import type { PolicyOptions, SavedPolicy, SavePlace, StoredPolicy } from "./engine.ts";

/** @throws TroupeError `bad_arguments` if the name is not a file name */
export function pathOf({ folder, name }: SavePlace): string {
  if (name !== "" && name !== "." && name !== ".." && basename(name) === name) return join(folder, name);
  throw new TroupeError(
    "bad_arguments",
    `The name of a save is ${JSON.stringify(name)}; expected a file name.`,
  );
}

export function directoryOf({ saved, folder }: StoredPolicy): string {
  return join(folder, saved.location);
}

/** What to make, with the directories of saved weights. */
export interface Making {
  readonly name: string;
  readonly model: string;
  /** Where its weights are, or those of a fresh adapter's base. */
  readonly directory: string;
  readonly adapter: AdapterOptions | null;
  readonly valueHead: boolean;
  readonly version: number;
}

/** @throws TroupeError `bad_arguments`, `bad_model` if the directory has another adapter than asked for */
export function making({ name, model: given, from, adapter, valueHead = false }: PolicyOptions): Making {
  const model = typeof given === "string" ? given : directoryOf(given);
  const directory = from === undefined ? model : directoryOf(from);
  const stored = from ?? (typeof given === "string" ? undefined : given);
  const common = { name, model, directory, valueHead, version: stored?.saved.version ?? 0 };
  if (adapter !== undefined) checkAdapterOptions(adapter);
  if (!holdsAdapter(directory)) {
    if (adapter === undefined || from === undefined) return { ...common, adapter: adapter ?? null };
    throw new TroupeError("bad_model", `${directory} contains no adapter, but the policy ${name} is one.`);
  }
  // The requested settings, which the directory must match, or else those of the directory.
  const options = adapter ?? readAdapterOptions(directory);
  checkAdapterConfig(directory, options, valueHead ? undefined : false);
  return { ...common, adapter: options };
}

export function optimizerFile(directory: string): string {
  return `${directory}.optimizer`;
}

export function savedPolicy(kind: SavedPolicy["kind"], { name }: SavePlace, version: number): SavedPolicy {
  return { kind, location: name, version, directory: name };
}

const kind = "troupe optimizer";
const moments = ["moment1", "moment2"] as const;

export interface StoredMoment {
  readonly moment: (typeof moments)[number];
  /** The weight's name. */
  readonly tensor: string;
  /** The name in the file. */
  readonly stored: string;
}

export interface OptimizerFile {
  readonly file: SafetensorsFile;
  readonly stepCount: number;
  readonly moments: readonly StoredMoment[];
}

export async function writeOptimizerFile(
  path: string,
  tensors: readonly TensorInfo[],
  stepCount: number,
  read: (moment: StoredMoment, tensor: TensorInfo) => Promise<Float32Array>,
): Promise<void> {
  const list = storedMoments(tensors).map((moment): TensorToWrite => {
    const tensor = tensors.find(({ name }) => name === moment.tensor) as TensorInfo;
    return { name: moment.stored, shape: tensor.shape, values: () => read(moment, tensor) };
  });
  await writeSafetensorsDurably(path, list, { metadata: { kind, step_count: String(stepCount) } });
}

/**
 * Nothing but an earlier state is ever overwritten.
 * @throws TroupeError `bad_arguments` if something else is at `path`
 */
export async function checkReplaceable(path: string): Promise<void> {
  const found = await ifPresent(path, () => lstat(path));
  if (found === null || (found.isFile() && (await isOptimizerFile(path)))) return;
  const what = `${path} exists and is not an optimizer's state, so it is not overwritten`;
  throw new TroupeError("bad_arguments", `${what}. Choose another name, or remove it.`);
}

async function isOptimizerFile(path: string): Promise<boolean> {
  const file = await openSafetensors(path).catch((error: TroupeError) => {
    if (isUnreadable(error.cause)) throw error;
    return null;
  });
  return file?.metadata["kind"] === kind;
}

/** Opens and checks a file of `writeOptimizerFile`. @throws TroupeError `bad_model` for one made for other weights */
export async function openOptimizerFile(
  path: string,
  tensors: readonly TensorInfo[],
): Promise<OptimizerFile> {
  const file = await openSafetensors(path);
  const stepCount = Number(file.metadata["step_count"] ?? Number.NaN);
  if (file.metadata["kind"] !== kind || !Number.isSafeInteger(stepCount) || stepCount < 0) {
    throw new TroupeError(
      "bad_model",
      `${path} is not an optimizer's state. Restore a checkpoint with the file that was saved with it.`,
    );
  }
  const shapes = new Map(tensors.map((tensor) => [tensor.name, tensor.shape]));
  const stored = storedMoments(tensors);
  const expected = stored.map((moment) => ({ name: moment.stored, shape: shapes.get(moment.tensor) ?? [] }));
  const weights: Weights = new Map(Array.from(file.tensors.keys(), (name) => [name, file]));
  checkWeights(path, weights, expected, () => false);
  return { file, stepCount, moments: stored };
}

function storedMoments(tensors: readonly TensorInfo[]): StoredMoment[] {
  return tensors.flatMap(({ name }) =>
    moments.map((moment) => ({ moment, tensor: name, stored: `${moment}.${name}` })),
  );
}
