/**
 * The episodes stored in a run, in three append-only files:
 *
 *   index.jsonl            one line per episode: its properties and the position of its bytes
 *   episodes.jsonl.gz      one gzip member per episode, with one JSON line
 *   prompts.jsonl.gz       every prompt once, by hash; one member for each episode with new prompts
 *
 * The index line is written last and commits the episode. Bytes beyond those in the index, after a crash or a rewind,
 * are truncated before the next write. `zcat` reads the other two files.
 */
import fs from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { TroupeError } from "../errors.ts";
import { isPresent, statOf } from "../present.ts";
import { makeDirectory, syncPath, writing } from "./durable.ts";
import { appendLine, cutLines } from "./json-lines.ts";
import type { RunLayout } from "./layout.ts";
import { checkRecord } from "./read.ts";
import { promptsAt } from "./read-episodes.ts";
import { schemaVersion } from "./records.ts";
import { episodeEntrySchema } from "./episode-entries.ts";
import type { EpisodeEntry, PromptRecord } from "./episode-entries.ts";

/** An episode to store. */
export interface NewEpisode {
  readonly entry: Omit<EpisodeEntry, "schema_version" | "episode" | "prompts">;
  /** JSON to add to the entry's fields; prompts are referenced by hash. */
  readonly record: object;
  /** Every prompt of the record, by hash. */
  readonly prompts: ReadonlyMap<string, NewPrompt>;
}

export interface NewPrompt {
  /** Hash of another prompt of the record that this one continues. */
  readonly base?: string;
  /** The tokens after the base's, and their text; called if the prompt is not stored yet. */
  readonly rest: () => Pick<PromptRecord, "tokens" | "text">;
}

type Place = EpisodeEntry["episode"];

export class EpisodeLog {
  readonly #layout: RunLayout;
  readonly #kept: readonly EpisodeEntry[];
  /** Ends of the files according to the index. */
  readonly #ends: { episodes: number; prompts: number };
  /** By hash, the position of the member that contains a prompt; null: not read yet. */
  #known: Map<string, number> | null = null;
  #last: Promise<void> = Promise.resolve();

  private constructor(layout: RunLayout, kept: readonly EpisodeEntry[]) {
    const last = kept.at(-1);
    this.#layout = layout;
    this.#kept = kept;
    this.#ends = { episodes: last?.episode[1] ?? 0, prompts: last?.prompts[1] ?? 0 };
  }

  /**
   * Opens the log for writing and truncates it after the last episode before the first that `keep` rejects.
   * @throws TroupeError `bad_run` if bytes are missing that the index needs
   */
  static async open(layout: RunLayout, keep: (entry: EpisodeEntry) => boolean): Promise<EpisodeLog> {
    const entryOf = (value: unknown) => checkRecord(layout.episodeIndex, episodeEntrySchema, value);
    const lines = await cutLines(layout.episodeIndex, (value) => keep(entryOf(value)));
    const log = new EpisodeLog(layout, lines.map(entryOf));
    await cutFile(layout.episodeData, log.#ends.episodes);
    await cutFile(layout.promptData, log.#ends.prompts);
    return log;
  }

  /** Calls may overlap: episodes are written in call order. */
  append(episode: NewEpisode): Promise<void> {
    this.#last = this.#last.then(() => this.#write(episode));
    return this.#last;
  }

  /** Flushes to disk. */
  async sync(): Promise<void> {
    const { episodes, promptData, episodeData, episodeIndex } = this.#layout;
    for (const place of [promptData, episodeData, episodeIndex, episodes])
      if (await isPresent(place)) await syncPath(place);
  }

  async #write({ entry, record, prompts }: NewEpisode): Promise<void> {
    const { episodes, promptData, episodeData, episodeIndex } = this.#layout;
    await makeDirectory(episodes);
    const header = { schema_version: schemaVersion };
    const known = (this.#known ??= await this.#readPrompts());
    const fresh = [...prompts].filter(([hash]) => !known.has(hash));
    for (const [hash] of fresh) known.set(hash, this.#ends.prompts);
    const placeOf = (hash: string) => ({ hash, start: known.get(hash) });
    const lines = fresh.map(([hash, { base, rest }]) => {
      return { ...header, hash, ...(base === undefined ? {} : { base: placeOf(base) }), ...rest() };
    });
    const brought = await appendMember(promptData, this.#ends.prompts, lines);
    const places = Object.fromEntries([...prompts.keys()].map((hash) => [hash, known.get(hash)]));
    const line = { ...header, ...entry, prompts: places, ...record };
    const place = await appendMember(episodeData, this.#ends.episodes, [line]);
    await appendLine(episodeIndex, { ...header, ...entry, episode: place, prompts: brought });
    [this.#ends.episodes, this.#ends.prompts] = [place[1], brought[1]];
  }

  async #readPrompts(): Promise<Map<string, number>> {
    const known = new Map<string, number>();
    for (const { prompts } of this.#kept)
      for (const { hash } of await promptsAt(this.#layout, prompts)) known.set(hash, prompts[0]);
    return known;
  }
}

const compress = promisify(gzip);

/** Appends one gzip member of JSON lines, if there are any. */
async function appendMember(file: string, start: number, lines: readonly object[]): Promise<Place> {
  if (lines.length === 0) return [start, start];
  const bytes = await compress(lines.map((line) => `${asJson(line)}\n`).join(""));
  await writing(file, () => fs.appendFile(file, bytes));
  return [start, start + bytes.length];
}

/** @throws TroupeError `bad_environment` if a task or a state is not JSON: circular, or nested too deeply */
export function asJson(line: object): string {
  try {
    return JSON.stringify(line);
  } catch (cause) {
    const problem = "an episode cannot be recorded: its task, states and observations must be plain JSON";
    throw new TroupeError("bad_environment", `${problem} (${(cause as Error).message})`, { cause });
  }
}

async function cutFile(file: string, end: number): Promise<void> {
  const size = (await statOf(file))?.size ?? 0;
  if (size < end) {
    const problem = `has ${size} bytes, but the index of episodes needs ${end}`;
    throw new TroupeError("bad_run", `${file} ${problem}. Restore the file or remove the run's folder.`);
  }
  if (size > end) await writing(file, () => fs.truncate(file, end));
}
