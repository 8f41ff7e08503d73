/** What the index reads of a run: its episodes in their order, with the prompts that each of them adds. */
import { readSync } from "node:fs";
import fs from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { TroupeError } from "../../errors.ts";
import { statOf } from "../../present.ts";
import { openRegular } from "../../runs/regular.ts";
import type { EpisodeEntry, PromptRecord } from "../../runs/episode-entries.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { Entries } from "../entries.ts";
import { indexedEpisode, type IndexedEpisode, type StoredJson } from "./contents.ts";

/** Episodes whose entries are read together. */
const batch = 64;

export type Entry = Pick<EpisodeEntry, "id" | "episode" | "prompts" | "branched">;

export interface ReadEpisode {
  readonly entry: Entry;
  readonly indexed: IndexedEpisode;
  /** By the hash of a prompt, where its member begins. */
  readonly members: StoredJson["prompts"];
  /** The new ones. */
  readonly prompts: readonly PromptRecord[];
}

/** From the `first` on, until the run is cut. @throws TroupeError `bad_run` for the first that is damaged */
export async function* readFrom(run: string, entries: Entries, first: number): AsyncGenerator<ReadEpisode> {
  const { episodeData, promptData } = layoutOf(run);
  const { count, generation } = entries;
  if (count === first) return;
  await using episodes = await openFile(episodeData);
  await using texts = await openFile(promptData);
  for (let at = first; at < count && entries.generation === generation; at += batch) {
    const numbers = Array.from({ length: Math.min(batch, count - at) }, (_, index) => at + index);
    for (const entry of await entries.entries(numbers)) {
      let read: ReadEpisode;
      try {
        read = readOne(episodes, texts, entry);
      } catch (cause) {
        throw damaged(episodeData, entry, cause);
      }
      yield read;
    }
  }
}

/** Everything that damage could break is done here, before anything is kept. @throws Error */
function readOne(episodes: OpenFile, texts: OpenFile, entry: Entry): ReadEpisode {
  const [stored] = linesAt(episodes, entry.episode) as StoredJson[];
  if (stored === undefined) throw new Error("it has no line");
  const prompts = linesAt(texts, entry.prompts) as PromptRecord[];
  const isWhole = prompts.every(({ hash, text }) => typeof hash === "string" && typeof text === "string");
  if (!isWhole) throw new Error("it has a prompt without a hash or a text");
  return { entry, indexed: indexedEpisode(stored, entry.branched), members: stored.prompts, prompts };
}

/** The checksum of its text, and the length of that: the last eight bytes of gzip. */
export async function sumOfEpisode(run: string, [, end]: Entry["episode"]): Promise<string> {
  const file = await openFile(layoutOf(run).episodeData);
  try {
    const { buffer } = (await file?.read(Buffer.alloc(8), 0, 8, end - 8)) ?? { buffer: Buffer.alloc(0) };
    return buffer.toString("hex");
  } finally {
    await file?.close();
  }
}

type OpenFile = fs.FileHandle | null;

async function openFile(file: string): Promise<OpenFile> {
  return (await statOf(file)) === null ? null : openRegular(file);
}

function damaged(file: string, { id }: Entry, cause: unknown): TroupeError {
  const problem = `${file} is damaged: the episode ${id} cannot be read (${(cause as Error).message})`;
  return new TroupeError("bad_run", `${problem}. Restore the file.`, { cause });
}

/** In this thread, whose work it is: handing small pieces to others takes longer. */
function linesAt(file: OpenFile, [start, end]: Entry["episode"]): unknown[] {
  if (start === end) return [];
  const bytes = Buffer.alloc(end - start);
  if (file === null || readSync(file.fd, bytes, 0, bytes.length, start) < bytes.length)
    throw new Error("the file ends before");
  const text = gunzipSync(bytes, { maxOutputLength: 2 ** 29 - 24, chunkSize: 2 ** 18 }).toString("utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}
