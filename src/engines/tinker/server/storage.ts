/**
 * Saved weights in the server's folder. Weights that clients call `tinker://RUN/KIND/NAME` are in `RUN/KIND/NAME~…`,
 * a new directory for every save, and `RUN/KIND/NAME.json` is the record of them. Weights without a record do not
 * exist: a record is written after them, and replaced in one step.
 */
import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
  lstatSync,
  readdirSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { command } from "../../../command-line.ts";
import { TroupeError } from "../../../errors.ts";
import type { AdapterOptions } from "../../../models/adapter-options.ts";
import type { SavedPolicy, SavePlace, StoredPolicy } from "../../engine.ts";

/** What is known of saved weights. */
export interface SavedRecord {
  readonly saved: SavedPolicy;
  readonly owner: string;
  readonly baseModel: string;
  readonly adapter: AdapterOptions | null;
  readonly critic: boolean;
  readonly time: string;
  /** The directory of the engine's files. Absent in older records, whose files are next to them. */
  readonly directory?: string;
  /** Nobody but a sampling session knows of them. */
  readonly isEphemeral?: boolean;
  /** Other owners may read them. */
  readonly isPublic?: boolean;
  /** When they are removed. */
  readonly expires?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Kept {
  readonly path: WeightsPath;
  readonly record: SavedRecord;
  readonly bytes: number;
}

/** With optimizer state, and without. */
const kinds = ["weights", "sampler_weights"] as const;
export type WeightsKind = (typeof kinds)[number];

export interface WeightsPath {
  readonly run: string;
  readonly kind: WeightsKind;
  readonly name: string;
}

export class Storage {
  readonly #folder: string;
  readonly #limit: number;
  /** By text of the path. */
  readonly #kept = new Map<string, Kept>();
  /** Paths of weights that are being written. */
  readonly #saving = new Set<string>();
  readonly #onGone: (path: string, folder: string) => void;

  /**
   * Removes what a server that was killed left: weights without a record, and those of sampling sessions.
   * @param limit bytes of one owner's weights, above which nothing more is saved
   * @param onGone told of weights that were replaced or removed, before their files are
   */
  constructor(folder: string, limit: number, onGone: (path: string, folder: string) => void) {
    this.#limit = limit;
    this.#onGone = onGone;
    mkdirSync(folder, { recursive: true });
    this.#folder = realpathSync(folder);
    for (const run of directoriesIn(this.#folder).filter((name) => runFolder.test(name)))
      for (const kind of kinds) this.#open(run.replaceAll("_", ":"), kind);
    this.removeExpired();
  }

  /** @throws TroupeError `bad_arguments` if the owner's quota is used up */
  checkRoom(owner: string): void {
    const used = this.#of(owner).reduce((sum, { bytes }) => sum + bytes, 0);
    if (used < this.#limit) return;
    const deletion = `\`${command("runs", "weights", "RUN", "--delete")}\``;
    throw new TroupeError(
      "bad_arguments",
      `Saved weights take ${used} bytes; the quota is ${this.#limit}. Delete some, as with ${deletion}.`,
    );
  }

  /** Saves with `write`, and replaces what had this path once that is done. */
  async save(
    path: WeightsPath,
    write: (place: SavePlace) => Promise<SavedPolicy>,
    described: Omit<SavedRecord, "saved" | "directory" | "time">,
  ): Promise<StoredPolicy> {
    const text = textOf(path);
    const place = this.#place(path.run, path.kind);
    const directory = `${path.name}~${randomBytes(4).toString("hex")}`;
    const folder = join(place, directory);
    this.#saving.add(text);
    try {
      mkdirSync(folder, { recursive: true });
      const saved = await write({ folder, name: "policy" });
      const replaced = this.#kept.get(text);
      this.#record(path, { ...described, saved, directory, time: new Date().toISOString() });
      if (replaced !== undefined) this.#removeFiles(replaced);
      return { saved, folder };
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    } finally {
      this.#saving.delete(text);
    }
  }

  /** Whether there are such weights, or they are being written. */
  exists(path: WeightsPath): boolean {
    const text = textOf(path);
    return this.#kept.has(text) || this.#saving.has(text);
  }

  /** @throws TroupeError `bad_model` if there are no such weights that this owner may read */
  find(path: WeightsPath, owner: string): Kept & { readonly stored: StoredPolicy } {
    const kept = this.#kept.get(textOf(path));
    const mayRead = kept?.record.owner === owner || kept?.record.isPublic === true;
    if (kept === undefined || !mayRead || isExpired(kept))
      throw new TroupeError("bad_model", `There are no saved weights ${textOf(path)}.`);
    return { ...kept, stored: { saved: kept.record.saved, folder: this.#folderOf(kept) } };
  }

  /** Whether the path still leads to the weights in this folder. */
  holds(text: string, folder: string): boolean {
    const kept = this.#kept.get(text);
    return kept !== undefined && !isExpired(kept) && this.#folderOf(kept) === folder;
  }

  /** The owner's, the oldest first, without those of sampling sessions. */
  list(owner: string, run?: string): readonly Kept[] {
    return this.#of(owner)
      .filter(({ path, record }) => record.isEphemeral !== true && (run === undefined || path.run === run))
      .toSorted((one, other) => (one.record.time < other.record.time ? -1 : 1));
  }

  /** @throws TroupeError `bad_model` if this owner has no such weights */
  change(
    path: WeightsPath,
    owner: string,
    changes: { readonly isPublic?: boolean; readonly expires?: string | undefined },
  ): void {
    this.#record(path, { ...this.#own(path, owner).record, ...changes });
  }

  /** @throws TroupeError `bad_model` if this owner has no such weights */
  remove(path: WeightsPath, owner: string): void {
    this.#remove(this.#own(path, owner));
  }

  removeExpired(): void {
    for (const kept of this.#kept.values()) if (isExpired(kept)) this.#remove(kept);
  }

  #of(owner: string): readonly Kept[] {
    return [...this.#kept.values()].filter((kept) => kept.record.owner === owner && !isExpired(kept));
  }

  #own(path: WeightsPath, owner: string): Kept {
    const kept = this.#kept.get(textOf(path));
    if (kept?.record.owner === owner) return kept;
    throw new TroupeError("bad_model", `There are no saved weights ${textOf(path)}.`);
  }

  /** Whole, or not at all: an interrupted server must not leave half a record. */
  #record(path: WeightsPath, record: SavedRecord): void {
    const file = this.#recordFile(path);
    writeFileSync(`${file}.new`, JSON.stringify(record));
    renameSync(`${file}.new`, file);
    this.#keep(path, record);
  }

  #keep(path: WeightsPath, record: SavedRecord): void {
    const bytes = this.#filesOf(path, record).reduce((sum, file) => sum + bytesIn(file), 0);
    this.#kept.set(textOf(path), { path, record, bytes });
  }

  #remove(kept: Kept): void {
    this.#kept.delete(textOf(kept.path));
    rmSync(this.#recordFile(kept.path));
    this.#removeFiles(kept);
    this.#removeEmpty(this.#place(kept.path.run, kept.path.kind));
  }

  #folderOf({ path: { run, kind }, record: { directory = "" } }: Kept): string {
    return join(this.#place(run, kind), directory);
  }

  #removeFiles(kept: Kept): void {
    const { path, record } = kept;
    this.#onGone(textOf(path), this.#folderOf(kept));
    for (const file of this.#filesOf(path, record)) rmSync(file, { recursive: true, force: true });
  }

  #filesOf({ run, kind, name }: WeightsPath, { directory }: SavedRecord): readonly string[] {
    const place = this.#place(run, kind);
    return (directory === undefined ? [name, `${name}.optimizer`] : [directory]).map((file) =>
      join(place, file),
    );
  }

  #recordFile({ run, kind, name }: WeightsPath): string {
    return join(this.#place(run, kind), `${name}.json`);
  }

  #place(run: string, kind: WeightsKind): string {
    return join(this.#folder, run.replaceAll(":", "_"), kind);
  }

  #open(run: string, kind: WeightsKind): void {
    const place = this.#place(run, kind);
    const files = entriesIn(place);
    const records = files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -5));
    for (const name of records.filter(isName)) {
      const path = { run, kind, name };
      const record = this.#read(path);
      if (record !== null) this.#keep(path, record);
      if (record?.isEphemeral === true) this.#remove({ path, record, bytes: 0 });
    }
    for (const file of files.filter((each) => !this.#isKnown({ run, kind, name: nameOf(each) }, each)))
      rmSync(join(place, file), { recursive: true, force: true });
    this.#removeEmpty(place);
  }

  #removeEmpty(place: string): void {
    try {
      rmdirSync(place);
      rmdirSync(dirname(place));
    } catch {
      // It is not empty, or not there.
    }
  }

  /** Whether a file belongs to a record, or to one that is damaged and may be repaired. */
  #isKnown(path: WeightsPath, file: string): boolean {
    if (file.endsWith(".json")) return true;
    const kept = this.#kept.get(textOf(path));
    if (kept === undefined) return entriesIn(this.#place(path.run, path.kind)).includes(`${path.name}.json`);
    return kept.record.directory === undefined || kept.record.directory === file;
  }

  /** Null: there is none, or it is damaged, which must not keep a server from starting. */
  #read(path: WeightsPath): SavedRecord | null {
    try {
      const record = JSON.parse(readFileSync(this.#recordFile(path), "utf8")) as SavedRecord | null;
      return typeof record?.owner === "string" ? record : null;
    } catch {
      return null;
    }
  }
}

/** Of a model's identifier. Nothing else in the server's folder is looked at, or removed. */
const runFolder = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}_train_\d+$/;

function isExpired({ record: { expires } }: Kept): boolean {
  return expires !== undefined && Date.parse(expires) <= Date.now();
}

/** The name of the weights that a file belongs to. */
function nameOf(file: string): string {
  return file.replace(/(~[\da-f]{8}|\.optimizer|\.json\.new)$/, "");
}

/** Names of plain files and directories; none if there is no such folder. */
function entriesIn(folder: string): readonly string[] {
  return namesIn(folder, (entry) => entry.isFile() || entry.isDirectory());
}

function directoriesIn(folder: string): readonly string[] {
  return namesIn(folder, (entry) => entry.isDirectory());
}

interface Entry {
  readonly name: string;
  isFile(): boolean;
  isDirectory(): boolean;
}

function namesIn(folder: string, isWanted: (entry: Entry) => boolean): readonly string[] {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter(isWanted)
    .map(({ name }) => name);
}

/** Of a file, or of all files in a directory; 0: there is none. */
function bytesIn(place: string): number {
  const found = lstatSync(place, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found?.size ?? 0;
  return readdirSync(place).reduce((sum, file) => sum + bytesIn(join(place, file)), 0);
}

export function textOf({ run, kind, name }: WeightsPath): string {
  return `tinker://${run}/${kind}/${name}`;
}

/** @throws TroupeError `bad_model` */
export function parsePath(text: string): WeightsPath {
  const match = /^tinker:\/\/([\w:-]{1,100})\/(weights|sampler_weights)\/([\w.-]{1,200})$/.exec(text);
  const [, run = "", kind, name = ""] = match ?? [];
  if (match === null || !isName(name))
    throw new TroupeError(
      "bad_model",
      `${JSON.stringify(text)} is not a path of saved weights; expected tinker://RUN/weights/NAME.`,
    );
  return { run, kind: kind as WeightsKind, name };
}

/** @throws TroupeError `bad_arguments` */
export function checkName(name: string): void {
  if (isName(name)) return;
  const expected =
    "expected letters, digits, `.`, `-`, `_`, at most 200, not starting with a dot or ending in .json, .new or .optimizer";
  throw new TroupeError("bad_arguments", `The name of the weights is ${JSON.stringify(name)}; ${expected}.`);
}

/** The endings are those of files that belong to weights of another name. */
function isName(name: string): boolean {
  return /^[\w-][\w.-]{0,199}$/.test(name) && !/\.(json|new|optimizer)$/i.test(name);
}
