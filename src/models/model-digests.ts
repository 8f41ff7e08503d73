/**
 * The contents of a model directory, by file. A run's recipe names its models by paths, which lead to another directory
 * once the run is read from another folder, or once someone has replaced the files: it would continue with other weights.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { ifPresent, isPresentSync, namesIn } from "../present.ts";
import { digestOfFile } from "../runs/digests.ts";
import { readModels } from "../runs/read.ts";
import { readObject } from "../text/files.ts";
import { baseOf } from "./adapter-base.ts";

export type ModelDigests = Readonly<Record<string, string>>;

/** What determines results: settings, tokenizer, template, weights. */
const files = /\.(json|jinja|safetensors)$/;

/** SHA-256 of each file; of an adapter also of its base's, as `base/NAME`. @throws TroupeError `bad_model` */
export async function modelDigests(directory: string): Promise<ModelDigests> {
  const base = baseOf(directory);
  const below = base === directory ? {} : await digestsIn(base);
  return {
    ...(await digestsIn(directory)),
    ...Object.fromEntries(Object.entries(below).map(([name, digest]) => [`base/${name}`, digest])),
  };
}

/**
 * Another text once a file of the directory was written or replaced; its contents are not read. @throws TroupeError
 * `bad_model`
 */
export async function modelVersion(directory: string): Promise<string> {
  const names = (await namesIn(directory, "bad_model")).filter((name) => files.test(name)).toSorted();
  const versions: string[] = [];
  for (const name of names) {
    // Not the time of change: a hard link of the file, or other permissions, leave its contents.
    const stat = await ifPresent(
      path.join(directory, name),
      (place) => fs.stat(place, { bigint: true }),
      "bad_model",
    );
    versions.push([name, stat?.ino, stat?.size, stat?.mtimeNs].join(" "));
  }
  return versions.join("\n");
}

/** A base as it was loaded: `version` is its `modelVersion` then. */
export interface LoadedBase {
  readonly directory: string;
  readonly version: string;
}

/** In an adapter's directory: the SHA-256 of its base's weights, by file that is read. Other programs ignore it. */
const baseRecord = "base_digests.json";

/** Records an adapter's base beside its weights, unless the base's files have changed since it was loaded. */
export async function recordBase(folder: string, base: LoadedBase): Promise<void> {
  const digests = await weightDigests(base);
  if (digests === null) return;
  await fs.writeFile(path.join(folder, baseRecord), `${JSON.stringify(digests, null, 2)}\n`);
}

/** For an adapter that is written anew: what it was trained on. */
export async function copyBaseRecord(from: string, folder: string): Promise<void> {
  const record = await ifPresent(path.join(from, baseRecord), (file) => fs.readFile(file), "bad_model");
  if (record !== null) await fs.writeFile(path.join(folder, baseRecord), record);
}

/**
 * An adapter computes something else on other weights, even of the same shape. Adapters of other programs have no record.
 * @throws TroupeError `bad_model` if the adapter in the directory was saved on a base with other weights
 */
export async function checkRecordedBase(directory: string, base: LoadedBase): Promise<void> {
  if (!isPresentSync(path.join(directory, baseRecord), "bad_model")) return;
  const recorded = readObject(directory, baseRecord) as ModelDigests;
  const digests = (await weightDigests(base)) ?? {};
  // Of the same weights in other shards nothing is known.
  const file = Object.keys(recorded).find((name) => name in digests && digests[name] !== recorded[name]);
  if (file === undefined) return;
  throw new TroupeError(
    "bad_model",
    `The adapter ${directory} was trained on a base with other weights than ${base.directory}: ${file} differs. ` +
      "Make the policy with that base as its model, or put its files there.",
  );
}

/** Null: the files are others than those that were loaded. */
async function weightDigests({ directory, version }: LoadedBase): Promise<ModelDigests | null> {
  if ((await modelVersion(directory)) !== version) return null;
  const digests = await digestsIn(directory, /^model.*\.safetensors$/);
  return (await modelVersion(directory)) === version ? digests : null;
}

/**
 * Compares the directory with what the run recorded of the policy's model; without a record nothing is known.
 * @throws TroupeError `bad_run` if its contents are others
 */
export async function checkModel(run: string, policy: string, directory: string): Promise<void> {
  const before = (await readModels(run)).at(-1)?.models[policy];
  if (before === undefined) return;
  const fix = "put that model there, or run this where the run was trained";
  await checkContents(path.resolve(directory), before, `that ${policy} of ${run} started from`, fix);
}

/**
 * @param which model it was, for the message
 * @throws TroupeError `bad_run` if the directory has other contents
 */
export async function checkContents(
  directory: string,
  expected: ModelDigests,
  which: string,
  fix: string,
): Promise<void> {
  const file = differingFile(expected, await modelDigests(directory));
  if (file === null) return;
  throw new TroupeError("bad_run", `${directory} is not the model ${which}: ${file} differs; ${fix}.`);
}

/** The first file in which two models differ; null: they are the same. */
function differingFile(one: ModelDigests, other: ModelDigests): string | null {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted();
  return names.find((name) => one[name] !== other[name]) ?? null;
}

async function digestsIn(directory: string, wanted: RegExp = files): Promise<ModelDigests> {
  const names = (await namesIn(directory, "bad_model")).filter((name) => wanted.test(name)).toSorted();
  const digests: [string, string][] = [];
  for (const name of names) digests.push([name, await knownDigest(path.join(directory, name))]);
  return Object.fromEntries(digests);
}

/** By path, with what changes whenever the file is written: weights are many gigabytes. */
const known = new Map<string, { readonly version: string; readonly digest: string }>();

async function knownDigest(file: string): Promise<string> {
  const { ino, size, mtimeNs, ctimeNs } = await fs.stat(file, { bigint: true });
  const version = [ino, size, mtimeNs, ctimeNs].join(" ");
  const before = known.get(file);
  if (before?.version === version) return before.digest;
  const digest = await digestOfFile(file);
  known.set(file, { version, digest });
  return digest;
}
