/**
 * The contents of a model directory, by file. A run names its models by paths, which lead to another directory once the
 * run is read from elsewhere, or once someone has replaced the files.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { namesIn } from "../present.ts";
import { digestOfFile } from "../runs/digests.ts";
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

/** The first file in which two models differ; null: they are the same. */
export function differingFile(one: ModelDigests, other: ModelDigests): string | null {
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
