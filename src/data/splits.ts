/**
 * The files of each split. The card says so, or the names do, by the conventions of the hub:
 * `CONFIG/test-00000-of-00001.parquet`, `data/train-*.parquet`, `CONFIG/test/0000.parquet`, `test.jsonl`.
 */
import path from "node:path";
import { z } from "zod";
import { dataFile } from "./formats/read-rows.ts";

/** Files by split, in the order of their rows. */
export type SplitFiles = Readonly<Record<string, readonly string[]>>;

export interface ConfigFiles {
  /** `default` if there is only one. */
  readonly name: string;
  readonly splits: SplitFiles;
}

/**
 * The configurations of a data set; empty if there are no data files.
 * @param unnamed the split of files without one in their names; `train`, as on the hub
 */
export function configsOf(
  paths: readonly string[],
  card: unknown,
  unnamed = "train",
): readonly ConfigFiles[] {
  const files = paths.filter((file) => dataFile.test(file)).toSorted(naturally);
  const declared = fromCard(files, card).filter(({ splits }) => Object.keys(splits).length > 0);
  return declared.length > 0 ? declared : fromNames(files, unnamed);
}

/** `part-2` before `part-10`. */
function naturally(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

const patterns = z.union([z.string(), z.array(z.string())]);
const dataFiles = z.union([patterns, z.array(z.object({ split: z.string(), path: patterns }))]);
const cardConfigs = z.array(z.object({ config_name: z.string(), data_files: dataFiles }));

function fromCard(files: readonly string[], card: unknown): ConfigFiles[] {
  const configs = cardConfigs.safeParse(card);
  if (!configs.success) return [];
  return configs.data.map(({ config_name: name, data_files: declared }) => ({
    name,
    splits: matched(files, declared),
  }));
}

function matched(files: readonly string[], declared: z.infer<typeof dataFiles>): SplitFiles {
  const bySplit = [declared]
    .flat()
    .map((each) => (typeof each === "string" ? { split: "train", path: each } : each));
  const splits: Record<string, string[]> = {};
  for (const { split, path: wanted } of bySplit) {
    const found = [wanted].flat().flatMap((glob) => files.filter((file) => path.matchesGlob(file, glob)));
    if (found.length > 0) splits[split] = [...new Set([...(splits[split] ?? []), ...found])];
  }
  return splits;
}

const shard = /^(?<split>.+?)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?$/;
const words: readonly (readonly [string, RegExp])[] = [
  ["train", /(^|[^a-z])(train|training)([^a-z]|$)/],
  ["validation", /(^|[^a-z])(validation|valid|val|dev)([^a-z]|$)/],
  ["test", /(^|[^a-z])(test|testing|eval|evaluation)([^a-z]|$)/],
];

function fromNames(files: readonly string[], unnamed: string): ConfigFiles[] {
  const configs = new Map<string, Record<string, string[]>>();
  for (const file of files) {
    const { config, split } = placeOf(file, unnamed);
    const splits = configs.get(config) ?? {};
    splits[split] = [...(splits[split] ?? []), file];
    configs.set(config, splits);
  }
  return [...configs].map(([name, splits]) => ({ name, splits }));
}

/** The split and configuration in a file's name. */
function placeOf(file: string, unnamed: string): { config: string; split: string } {
  const folders = file.split("/");
  const base = (folders.pop() ?? "").replace(dataFile, "");
  const sharded = shard.exec(base)?.groups?.["split"];
  const own = sharded ?? wordIn(base);
  if (own !== undefined) return { config: configIn(folders), split: own };
  const last = folders.at(-1);
  const inFolder = last === undefined ? undefined : (wordIn(last) ?? (/^\d+$/.test(base) ? last : undefined));
  if (inFolder !== undefined) return { config: configIn(folders.slice(0, -1)), split: inFolder };
  return { config: configIn(folders), split: unnamed };
}

function wordIn(name: string): string | undefined {
  return words.find(([, pattern]) => pattern.test(name.toLowerCase()))?.[0];
}

function configIn(folders: readonly string[]): string {
  const named = folders.filter((folder) => folder !== "data");
  return named.length > 0 ? named.join("/") : "default";
}
