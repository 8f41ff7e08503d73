/** Reads a run's stored episodes one after the other, also while they are being written. */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { TroupeError } from "../errors.ts";
import type { RunLayout } from "./layout.ts";
import { layoutOf } from "./layout.ts";
import { checkRecord, readRecords } from "./read.ts";
import { openRegular } from "./regular.ts";
import { episodeEntrySchema, promptRecordSchema, storedPromptsSchema } from "./episode-entries.ts";
import type { EpisodeEntry, PromptRecord } from "./episode-entries.ts";

export interface StoredPrompt {
  readonly tokens: readonly number[];
  /** For people; each message that continues a conversation starts a line. */
  readonly text: string;
}

type Place = EpisodeEntry["episode"];

/** An episode as written, with its prompts. */
export interface EpisodeRecord {
  readonly entry: EpisodeEntry;
  /** Parsed, but only its prompts are checked. */
  readonly record: unknown;
  /** By hash. */
  readonly prompts: ReadonlyMap<string, StoredPrompt>;
  /** For messages. */
  readonly where: string;
}

/** The stored episodes of a run, in order; none if nothing is stored. @throws TroupeError `bad_run` for damage */
export function readEpisodeIndex(directory: string): Promise<EpisodeEntry[]> {
  return readRecords(layoutOf(directory).episodeIndex, episodeEntrySchema);
}

/**
 * The episodes of some entries of the index. Only one, and a few prompts, are in memory at a time.
 * @throws TroupeError `bad_run` if the bytes that the index refers to are missing or damaged
 */
export async function* readEpisodeRecords(
  directory: string,
  entries: Iterable<EpisodeEntry>,
): AsyncGenerator<EpisodeRecord> {
  const all = await readEpisodeIndex(directory);
  const members = new Map(all.map(({ prompts }) => [prompts[0], prompts]));
  const records = new EpisodeRecords(directory, (start) => members.get(start) ?? [start, start]);
  for (const entry of entries) yield await records.read(entry);
}

/** Reads episodes in any order; prompts that were read last are kept. */
export class EpisodeRecords {
  readonly #layout: RunLayout;
  readonly #recent: RecentPrompts;

  /** @param memberAt the range of the member of the prompts file that begins at a byte */
  constructor(directory: string, memberAt: (start: number) => Place) {
    const layout = layoutOf(directory);
    this.#layout = layout;
    this.#recent = new RecentPrompts(layout.promptData, (start) => promptsAt(layout, memberAt(start)));
  }

  /** @throws TroupeError `bad_run` if bytes are missing or damaged */
  async read(entry: EpisodeEntry): Promise<EpisodeRecord> {
    const { episodeData } = this.#layout;
    const [record] = await readMember(episodeData, entry.episode);
    const where = `${episodeData}, the episode ${entry.id}`;
    const { prompts: places } = checkRecord(where, storedPromptsSchema, record);
    const prompts = new Map<string, StoredPrompt>();
    for (const [hash, start] of Object.entries(places))
      prompts.set(hash, await this.#recent.prompt(hash, start));
    return { entry, record, prompts, where };
  }
}

/** The prompts of one member of the prompts file. */
export async function promptsAt({ promptData }: RunLayout, place: Place): Promise<PromptRecord[]> {
  const where = `${promptData}, from byte ${place[0]}`;
  const lines = await readMember(promptData, place);
  return lines.map((line) => checkRecord(where, promptRecordSchema, line));
}

/** Members of the prompts file kept in memory: first prompts of tasks repeat. */
const mostMembers = 256;

class RecentPrompts {
  readonly #members = new Map<number, ReadonlyMap<string, PromptRecord>>();
  readonly #file: string;
  readonly #read: (start: number) => Promise<PromptRecord[]>;

  constructor(file: string, read: (start: number) => Promise<PromptRecord[]>) {
    this.#file = file;
    this.#read = read;
  }

  /** The whole prompt, including those it continues. */
  async prompt(hash: string, start: number): Promise<StoredPrompt> {
    const rests: PromptRecord[] = [];
    const seen = new Set<string>();
    for (let at: PromptRecord["base"] = { hash, start }; at !== undefined; at = rests[0]?.base) {
      const line = (await this.#member(at.start)).get(at.hash);
      const problem = seen.has(at.hash) ? "continues itself" : line === undefined ? "is missing" : null;
      if (line === undefined || problem !== null)
        throw damaged(this.#file, [at.start, at.start], new Error(`the prompt ${at.hash} ${problem}`));
      seen.add(at.hash);
      rests.unshift(line);
    }
    return {
      tokens: rests.flatMap(({ tokens }) => tokens),
      text: rests.map(({ text }) => text).join("\n"),
    };
  }

  async #member(start: number): Promise<ReadonlyMap<string, PromptRecord>> {
    const found =
      this.#members.get(start) ?? new Map((await this.#read(start)).map((one) => [one.hash, one]));
    this.#members.delete(start);
    this.#members.set(start, found);
    const [oldest] = this.#members.keys();
    if (this.#members.size > mostMembers && oldest !== undefined) this.#members.delete(oldest);
    return found;
  }
}

const decompress = promisify(gunzip);

/** Node's longest string: a few bytes of gzip may expand to any length. */
const longestMember = 2 ** 29 - 24;

/** The JSON lines of a gzip member; none for an empty range. */
async function readMember(file: string, place: Place): Promise<unknown[]> {
  if (place[0] === place[1]) return [];
  const bytes = await readBytes(file, place);
  try {
    const lines = (await decompress(bytes, { maxOutputLength: longestMember }))
      .toString("utf8")
      .trimEnd()
      .split("\n");
    return lines.map((line): unknown => JSON.parse(line));
  } catch (error) {
    throw damaged(file, place, error);
  }
}

async function readBytes(file: string, place: Place): Promise<Buffer> {
  const [start, end] = place;
  try {
    await using handle = await openRegular(file);
    if ((await handle.stat()).size < end) throw new Error("the file ends before");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
    if (bytesRead === end - start) return buffer;
  } catch (error) {
    throw damaged(file, place, error);
  }
  throw damaged(file, place, new Error("the file ends before"));
}

function damaged(file: string, [start, end]: Place, cause: unknown): TroupeError {
  const problem = cause instanceof Error ? cause.message : String(cause);
  return new TroupeError(
    "bad_run",
    `${file} is damaged: ${problem}, in bytes ${start} to ${end}. Restore the file.`,
    { cause },
  );
}
