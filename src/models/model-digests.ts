/**
 * The contents of a model directory, by file. A run's recipe names its models by paths, which lead to another directory
 * once the run is read from another folder, or once someone has replaced the files: it would continue with other weights.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { namesIn } from "../present.ts";
import { digestOfFile } from "../runs/digests.ts";
import { readModels } from "../runs/read.ts";
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
    const stat = await fs.stat(path.join(directory, name), { bigint: true }).catch(() => null);
    versions.push([name, stat?.ino, stat?.size, stat?.mtimeNs].join(" "));
  }
  return versions.join("\n");
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

async function digestsIn(directory: string): Promise<ModelDigests> {
  const names = (await namesIn(directory, "bad_model")).filter((name) => files.test(name)).toSorted();
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
