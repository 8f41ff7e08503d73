/**
 * The stored episodes of a run in memory, in stored order, from episodes/index.jsonl: numbers in columns, so that a list
 * of any length is filtered at once; lines are read again for what is shown.
 */
import fs from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";
import { episodeEntrySchema, type EpisodeEntry } from "../runs/episode-entries.ts";
import { layoutOf } from "../runs/layout.ts";
import { checkRecord } from "../runs/read.ts";
import { firstThat } from "./first-that.ts";
import { FollowedFile, type Line } from "./followed.ts";

export class Entries {
  readonly #followed: FollowedFile;
  /** Increases when episodes that were there are gone. */
  generation = 0;
  /** Names by number; 0: sampled for training. */
  readonly teams: (string | null)[] = [null];
  readonly team: number[] = [];
  readonly step: number[] = [];
  readonly success: number[] = [];
  readonly score: number[] = [];
  readonly #hash: number[] = [];
  /** Of the line in the index, with the end of the last. */
  readonly #lines: number[] = [0];
  /** Of the members in the file of prompts, with the end of the last. */
  readonly #prompts: number[] = [0];

  constructor(directory: string) {
    const reset = () => this.#reset();
    const add = (line: Line) => this.#add(line);
    this.#followed = new FollowedFile(layoutOf(directory).episodeIndex, { reset, add });
  }

  get count(): number {
    return this.step.length;
  }

  /** Reads what is new. @throws TroupeError `bad_run` */
  refresh(): Promise<boolean> {
    return this.#followed.refresh();
  }

  /** @throws TroupeError `bad_run` if the line was changed */
  async entry(at: number): Promise<EpisodeEntry> {
    const [entry] = await this.entries([at]);
    if (entry === undefined) throw new TroupeError("internal", `there is no episode number ${at}`);
    return entry;
  }

  /** Of these numbers. @throws TroupeError `bad_run`, also if the run was cut meanwhile */
  async entries(numbers: readonly number[]): Promise<EpisodeEntry[]> {
    const { generation } = this;
    try {
      return numbers.length === 0 ? [] : await this.#read(numbers);
    } catch (error) {
      await this.refresh();
      if (this.generation === generation) throw error;
      const problem = `${this.#followed.file} changed while it was read`;
      throw new TroupeError(
        "bad_run",
        `${problem}: the run was cut, as it is when it is resumed. Try again.`,
      );
    }
  }

  async #read(numbers: readonly number[]): Promise<EpisodeEntry[]> {
    const { file } = this.#followed;
    await using handle = await fs.open(file).catch((cause: Error) => {
      throw new TroupeError("bad_run", `Cannot read ${file}: ${cause.message}.`, { cause });
    });
    // Awaited here: what fails while the file is being closed would end the process.
    return await Promise.all(
      numbers.map(async (at) => {
        const [start, end] = [this.#lines[at] ?? 0, this.#lines[at + 1] ?? 0];
        const { buffer } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
        return checkRecord(`${file}:${at + 1}`, episodeEntrySchema, jsonOrNull(buffer.toString("utf8")));
      }),
    );
  }

  /** The number of an episode. Null: there is none. */
  async find(id: string): Promise<number | null> {
    const hash = hashOf(id);
    for (
      let at = this.#hash.lastIndexOf(hash);
      at !== -1;
      at = at === 0 ? -1 : this.#hash.lastIndexOf(hash, at - 1)
    )
      if ((await this.entry(at)).id === id) return at;
    return null;
  }

  /** Where the line of the last of so many episodes ends. */
  lineEnd(episodes: number): number {
    return this.#lines[episodes] ?? -1;
  }

  /** Where the member with the new prompts of an episode begins. */
  promptsStart(at: number): number {
    return this.#prompts[at] ?? 0;
  }

  /** The range of the member of the file of prompts that begins at a byte. */
  memberAt(start: number): [number, number] {
    const end = firstThat(this.#prompts.length, (at) => (this.#prompts[at] ?? 0) > start);
    return [start, this.#prompts[end] ?? start];
  }

  #add({ record, end }: Line): void {
    const { id, step, evaluation, success, score, prompts } = record as EpisodeEntry;
    if (typeof id !== "string" || !Array.isArray(prompts)) throw new SyntaxError("it has no id or prompts");
    this.team.push(evaluation === undefined ? 0 : this.#teamOf(evaluation.team));
    this.step.push(step);
    this.success.push(success);
    this.score.push(score);
    this.#hash.push(hashOf(id));
    this.#lines.push(end);
    this.#prompts.push(prompts[1]);
  }

  #teamOf(name: string): number {
    const known = this.teams.indexOf(name, 1);
    return known === -1 ? this.teams.push(name) - 1 : known;
  }

  #reset(): void {
    this.generation += 1;
    for (const column of [this.team, this.step, this.success, this.score, this.#hash]) column.length = 0;
    for (const column of [this.#lines, this.#prompts]) column.length = 1;
    this.teams.length = 1;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
