/**
 * Builds the index of a run, and extends it while the run trains. It begins again if the run was cut, or if a file of the
 * index is not as it was left.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs/promises";
import path from "node:path";
import { constants, crc32, zstdCompressSync } from "node:zlib";
import { TroupeError } from "../../errors.ts";
import { statOf } from "../../present.ts";
import type { PromptRecord } from "../../runs/episode-entries.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { Entries } from "../entries.ts";
import type { IndexedEpisode, StoredJson } from "./contents.ts";
import { appendAt, isUnchanged, readHead, rowsIn, sumOf, writtenHead } from "./files.ts";
import { filterOf, folded, searchable } from "./fold.ts";
import {
  actionFlags,
  episodeFlags,
  fileNames,
  indexVersion,
  mostRoles,
  none,
  rowFiles,
  type Head,
  type IndexFile,
} from "./format.ts";
import { readFrom, sumOfEpisode, type Entry, type ReadEpisode } from "./source.ts";

/** Characters of a block, or one episode: a search reads whole ones. */
const blockLength = 2 ** 15;

/** Bytes that wait to be written, and milliseconds after which less is written, too. */
const [mostPending, mostWait] = [2 ** 24, 1000];

type BytesFile = "contents" | "filters" | "ids";

export class IndexWriter {
  readonly #run: string;
  readonly #folder: string;
  #head: Head = emptyHead();
  #pending = emptyPending();
  #block = emptyBlock(0);
  /** Of all prompts: their hashes, and by the byte where a member begins its first prompt. */
  readonly #hashes: number[] = [];
  readonly #members = new Map<number, number>();
  /** Rows so far, also those that are not written yet. */
  #rows = { episodes: 0, actions: 0, prompts: 0, texts: 0 };

  private constructor(run: string, folder: string) {
    this.#run = run;
    this.#folder = folder;
  }

  /** Takes up the index in the folder if it is whole and of this run as it is. */
  static async open(run: string, folder: string, entries: Entries): Promise<IndexWriter> {
    const writer = new IndexWriter(run, folder);
    const head = await readHead(folder);
    const isWhole =
      head !== null && (await isUnchanged(folder, head)) && (await writer.#isOfRun(head, entries));
    if (isWhole) await writer.#takeUp(head, entries);
    else await writer.clear();
    return writer;
  }

  get head(): Head {
    return this.#head;
  }

  /** Begins again. */
  async clear(): Promise<void> {
    [this.#head, this.#pending, this.#hashes.length] = [emptyHead(), emptyPending(), 0];
    this.#block = emptyBlock(0);
    this.#rows = { episodes: 0, actions: 0, prompts: 0, texts: 0 };
    this.#members.clear();
    // Not the folder of a run, which may be removed while it is shown.
    if ((await statOf(this.#folder)) === null) await fs.mkdir(this.#folder);
    await fs.rm(this.#place("head"), { force: true });
    for (const name of fileNames) {
      await fs.rm(this.#place(name), { force: true });
      await fs.writeFile(this.#place(name), "", { flag: "wx" });
    }
  }

  /**
   * Indexes what is new. @param written called when more can be searched @param isEnded asked after each episode
   * @throws TroupeError `bad_run` for the first episode that is damaged; those before it are indexed
   */
  async extend(entries: Entries, written: () => void, isEnded = (): boolean => false): Promise<void> {
    let last = performance.now();
    try {
      for await (const read of readFrom(this.#run, entries, this.#rows.episodes)) {
        this.#add(read);
        const isDue = this.#pending.size > mostPending || performance.now() - last > mostWait;
        if (isEnded()) return;
        if (!isDue) continue;
        await this.#write(entries);
        written();
        last = performance.now();
      }
    } finally {
      if (this.#rows.episodes > this.#head.episodes) {
        await this.#write(entries);
        written();
      }
    }
  }

  #add({ entry, indexed, members, prompts }: ReadEpisode): void {
    if (prompts.length > 0) this.#members.set(entry.prompts[0], this.#rows.prompts);
    for (const prompt of prompts) this.#addPrompt(prompt);
    this.#addActions(indexed, members);
    this.#push("episodes", [
      this.#rows.actions,
      this.#rows.prompts,
      this.#endOf("ids"),
      indexed.turns,
      indexed.disagree ? episodeFlags.disagree : 0,
      [...indexed.blamed].reduce((bits, role) => (bits | this.#roleBit(role)) >>> 0, 0),
    ]);
    this.#pending.last = { place: entry.episode, sum: "" };
    this.#head = { ...this.#head, distinct: this.#head.distinct + indexed.texts.length };
    if (this.#block.length >= blockLength) this.#closeBlock();
  }

  #addPrompt({ hash, base, text }: PromptRecord): void {
    const [high, low] = [Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8, 16), 16)];
    const before = base === undefined ? none : this.#promptOf(base.hash, base.start);
    this.#hashes.push(high, low);
    this.#push("prompts", [high, low, before, this.#addText(text)]);
  }

  #addActions({ actions, texts, prompts, ids }: IndexedEpisode, members: StoredJson["prompts"]): void {
    const first = new Map<number, { readonly row: number; readonly text: number; readonly prompt: number }>();
    const written: string[] = [];
    for (const { action, role, truncated, dropped, reward } of actions) {
      const row = this.#rows.actions;
      const hash = prompts[action] ?? "";
      const known = first.get(action) ?? {
        row,
        text: this.#addText(texts[action] ?? ""),
        prompt: this.#promptOf(hash, members[hash] ?? -1),
      };
      if (!first.has(action)) written.push(`${ids[action]}\0`);
      first.set(action, known);
      const flags =
        (truncated ? actionFlags.truncated : 0) |
        (dropped ? actionFlags.dropped : 0) |
        (reward === null ? 0 : actionFlags.rewarded);
      const bits = bitsOf(reward ?? 0);
      this.#push("actions", [known.row, known.prompt, known.text, this.#roleOf(role), flags, bits]);
    }
    this.#append("ids", Buffer.from(written.join("")));
  }

  /** The row of a prompt. `none`: it is not in the member that should have it. */
  #promptOf(hash: string, member: number): number {
    const first = this.#members.get(member);
    if (first === undefined) return none;
    const [high, low] = [Number.parseInt(hash.slice(0, 8), 16), Number.parseInt(hash.slice(8, 16), 16)];
    for (let row = first; 2 * row < this.#hashes.length; row++)
      if (this.#hashes[2 * row] === high && this.#hashes[2 * row + 1] === low) return row;
    return none;
  }

  #addText(text: string): number {
    // As it is in the file, which has no half of a character.
    const plain = searchable(text);
    const compared = folded(plain);
    this.#block.written.push(plain);
    this.#block.folded.push(compared);
    this.#block.length += plain.length + 1;
    return this.#push("texts", [Buffer.byteLength(compared)]);
  }

  /** The number of a role; from `mostRoles` on they have none of their own. */
  #roleOf(name: string): number {
    const known = this.#head.roles.indexOf(name);
    if (known !== -1 || this.#head.roles.length === mostRoles) return known === -1 ? mostRoles : known;
    this.#head = { ...this.#head, roles: [...this.#head.roles, name] };
    return this.#head.roles.length - 1;
  }

  #roleBit(name: string): number {
    const role = this.#roleOf(name);
    return role === mostRoles ? 0 : 1 << role;
  }

  /** Returns the row's number. */
  #push(file: keyof typeof rowFiles, row: readonly number[]): number {
    this.#pending.rows[file].push(...row);
    this.#pending.size += 4 * row.length;
    return this.#rows[file]++;
  }

  #closeBlock(): void {
    const { written, folded: compared, firstText } = this.#block;
    if (written.length > 0) {
      const [text, searched] = [written.join("\0"), compared.join("\0")];
      const dictionary = Buffer.from(searched);
      const bytes = zstdCompressSync(dictionary, fast);
      const others = text === searched ? Buffer.alloc(0) : zstdCompressSync(text, { ...fast, dictionary });
      const filter = filterOf(searched);
      const [contents, filters] = [this.#endOf("contents"), this.#endOf("filters")];
      this.#pending.blocks.push(contents, bytes.length, others.length, firstText, filters, filter.length);
      this.#append("contents", bytes);
      this.#append("contents", others);
      this.#append("filters", filter);
    }
    this.#block = emptyBlock(this.#rows.texts);
  }

  #append(file: BytesFile, bytes: Uint8Array): void {
    const { pieces, length } = this.#pending[file];
    this.#pending[file] = { pieces, length: length + bytes.length };
    pieces.push(bytes);
    this.#pending.size += bytes.length;
  }

  #endOf(file: BytesFile): number {
    return this.#head.files[file].bytes + this.#pending[file].length;
  }

  async #write(entries: Entries): Promise<void> {
    this.#closeBlock();
    const { rows, blocks, contents, filters, ids, last } = this.#pending;
    const bytes: Record<IndexFile, Uint8Array> = {
      episodes: bytesOf(Uint32Array.from(rows.episodes)),
      actions: bytesOf(Uint32Array.from(rows.actions)),
      prompts: bytesOf(Uint32Array.from(rows.prompts)),
      texts: bytesOf(Uint32Array.from(rows.texts)),
      blocks: bytesOf(Float64Array.from(blocks)),
      filters: Buffer.concat(filters.pieces),
      contents: Buffer.concat(contents.pieces),
      ids: Buffer.concat(ids.pieces),
    };
    const files = { ...this.#head.files };
    for (const name of fileNames) {
      const before = files[name];
      if (!(await appendAt(this.#place(name), before.bytes, bytes[name]))) return this.#beginAgain(name);
      files[name] = { bytes: before.bytes + bytes[name].length, crc: crc32(bytes[name], before.crc) };
    }
    const { episodes, actions } = this.#rows;
    const source = await this.#sourceAt(entries, episodes, last?.place ?? null);
    const head = { ...this.#head, episodes, actions, files, source };
    const temporary = `${this.#place("head")}.new`;
    await fs.rm(temporary, { force: true });
    await fs.writeFile(temporary, writtenHead(head), { flag: "wx" });
    await fs.rename(temporary, this.#place("head"));
    // Not before: what waits is written again if any of this fails.
    [this.#head, this.#pending] = [head, emptyPending()];
  }

  /** @throws TroupeError `bad_run`: whoever extends the index next builds it anew */
  async #beginAgain(name: IndexFile): Promise<never> {
    await this.clear();
    const problem = `${this.#place(name)} was changed by another program`;
    throw new TroupeError("bad_run", `${problem}. The index is built again.`);
  }

  async #sourceAt(
    entries: Entries,
    episodes: number,
    place: Entry["episode"] | null,
  ): Promise<Head["source"]> {
    const before = this.#head.source;
    const { episodeIndex } = layoutOf(this.#run);
    const bytes = entries.lineEnd(episodes);
    // If the run was cut meanwhile, the sum is wrong, and the next look begins again.
    const crc = (await sumOf(episodeIndex, before.bytes, bytes, before.crc)) ?? 0;
    const last = place === null ? before.last : { place, sum: await sumOfEpisode(this.#run, place) };
    return { bytes, crc, last };
  }

  async #isOfRun({ source, episodes }: Head, entries: Entries): Promise<boolean> {
    if (entries.count < episodes || entries.lineEnd(episodes) !== source.bytes) return false;
    const { episodeIndex } = layoutOf(this.#run);
    if ((await sumOf(episodeIndex, 0, source.bytes, 0)) !== source.crc) return false;
    return source.last === null || (await sumOfEpisode(this.#run, source.last.place)) === source.last.sum;
  }

  async #takeUp(head: Head, entries: Entries): Promise<void> {
    this.#head = head;
    for (const name of fileNames) await appendAt(this.#place(name), head.files[name].bytes, Buffer.alloc(0));
    const prompts = await rowsIn(this.#place("prompts"));
    for (let at = 0; at < prompts.length; at += rowFiles.prompts.length)
      this.#hashes.push(prompts[at] ?? 0, prompts[at + 1] ?? 0);
    const episodes = await rowsIn(this.#place("episodes"));
    let first = 0;
    for (let episode = 0; episode < head.episodes; episode++) {
      const end = episodes[episode * rowFiles.episodes.length + 1] ?? 0;
      if (end > first) this.#members.set(entries.promptsStart(episode), first);
      first = end;
    }
    const texts = head.files.texts.bytes / 4 / rowFiles.texts.length;
    this.#rows = { episodes: head.episodes, actions: head.actions, prompts: first, texts };
    this.#block = emptyBlock(texts);
  }

  #place(name: IndexFile | "head"): string {
    return path.join(this.#folder, name === "head" ? "head.json" : `${name}.bin`);
  }
}

/** Without the checksum, a changed byte would be read as another text. */
const fast = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } };

function emptyBlock(firstText: number) {
  return { written: [] as string[], folded: [] as string[], length: 0, firstText };
}

function emptyPending() {
  return {
    rows: {
      episodes: [] as number[],
      actions: [] as number[],
      prompts: [] as number[],
      texts: [] as number[],
    },
    blocks: [] as number[],
    contents: { pieces: [] as Uint8Array[], length: 0 },
    filters: { pieces: [] as Uint8Array[], length: 0 },
    ids: { pieces: [] as Uint8Array[], length: 0 },
    last: null as Head["source"]["last"],
    size: 0,
  };
}

function emptyHead(): Head {
  return {
    version: indexVersion,
    generation: randomBytes(8).toString("hex"),
    episodes: 0,
    actions: 0,
    distinct: 0,
    roles: [],
    files: Object.fromEntries(fileNames.map((name) => [name, { bytes: 0, crc: 0 }])) as Head["files"],
    source: { bytes: 0, crc: 0, last: null },
  };
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

function bitsOf(value: number): number {
  float[0] = value;
  return bits[0] ?? 0;
}
