/**
 * Saved weights in the server's folder: `RUN/weights/NAME` (with optimizer state) and `RUN/sampler_weights/NAME`, each
 * with a JSON file about it. Clients name them `tinker://RUN/KIND/NAME`.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { command } from "../../../command-line.ts";
import { TroupeError } from "../../../errors.ts";
import type { SavedPolicy, StoredPolicy } from "../../engine.ts";
import type { AdapterOptions } from "../../../models/adapter-options.ts";

const kinds = ["weights", "sampler_weights"] as const;
export type WeightsKind = (typeof kinds)[number];

export interface WeightsPath {
  readonly run: string;
  readonly kind: WeightsKind;
  readonly name: string;
}

/** What is known of saved weights. */
export interface SavedRecord {
  readonly saved: SavedPolicy;
  readonly owner: string;
  readonly baseModel: string;
  readonly adapter: AdapterOptions | null;
  readonly critic: boolean;
  readonly time: string;
}

export class Storage {
  readonly #folder: string;
  readonly #limit: number;
  /** Who owns which weights, and their bytes. */
  readonly #used = new Map<string, { readonly owner: string; readonly bytes: number }>();

  /** @param limit bytes of one owner's weights, above which nothing more is saved */
  constructor(folder: string, limit: number) {
    this.#folder = folder;
    this.#limit = limit;
    mkdirSync(folder, { recursive: true });
    for (const path of this.#all()) {
      const owner = this.#read(path)?.owner;
      if (owner !== undefined) this.#measure(path, owner);
    }
  }

  /** @throws TroupeError `bad_arguments` if the owner's quota is used up */
  checkRoom(owner: string): void {
    const own = [...this.#used.values()].filter((each) => each.owner === owner);
    const used = own.reduce((sum, { bytes }) => sum + bytes, 0);
    if (used < this.#limit) return;
    const deletion = `\`${command("runs", "weights", "RUN", "--delete")}\``;
    throw new TroupeError(
      "bad_arguments",
      `Saved weights take ${used} bytes; the quota is ${this.#limit}. Delete some, as with ${deletion}.`,
    );
  }

  /** The folder for a run's weights of a kind, which exists afterwards. */
  folderOf(run: string, kind: WeightsKind): string {
    const folder = this.#place(run, kind);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /** Whole, or not at all: an interrupted server must not leave half a record. */
  record(path: WeightsPath, record: SavedRecord): void {
    const file = this.#recordFile(path);
    writeFileSync(`${file}.new`, JSON.stringify(record));
    renameSync(`${file}.new`, file);
    this.#measure(path, record.owner);
  }

  exists(path: WeightsPath): boolean {
    return existsSync(this.#recordFile(path));
  }

  /** @throws TroupeError `bad_model` if there are no such weights of this owner */
  find(path: WeightsPath, owner: string): { readonly record: SavedRecord; readonly stored: StoredPolicy } {
    const record = this.#read(path);
    if (record === null || record.owner !== owner)
      throw new TroupeError("bad_model", `There are no saved weights ${textOf(path)}.`);
    return { record, stored: { saved: record.saved, folder: this.#place(path.run, path.kind) } };
  }

  list(run: string, owner: string): readonly { readonly path: WeightsPath; readonly record: SavedRecord }[] {
    return kinds.flatMap((kind) =>
      filesIn(this.#place(run, kind))
        .filter((file) => file.endsWith(".json"))
        .map((file) => ({ run, kind, name: file.slice(0, -".json".length) }))
        .flatMap((path) => {
          const record = this.#read(path);
          return record?.owner === owner ? [{ path, record }] : [];
        }),
    );
  }

  remove(path: WeightsPath, owner: string): void {
    this.find(path, owner);
    this.#used.delete(this.#recordFile(path));
    rmSync(this.#recordFile(path));
    const directory = join(this.#place(path.run, path.kind), path.name);
    for (const each of [directory, `${directory}.optimizer`]) rmSync(each, { recursive: true, force: true });
  }

  #all(): readonly WeightsPath[] {
    return filesIn(this.#folder).flatMap((run) =>
      kinds.flatMap((kind) =>
        filesIn(this.#place(run, kind))
          .filter((file) => file.endsWith(".json"))
          .map((file) => ({ run, kind, name: file.slice(0, -".json".length) })),
      ),
    );
  }

  #measure(path: WeightsPath, owner: string): void {
    const directory = join(this.#place(path.run, path.kind), path.name);
    const parts = [directory, `${directory}.optimizer`, this.#recordFile(path)];
    const bytes = parts.reduce((sum, each) => sum + bytesIn(each), 0);
    this.#used.set(this.#recordFile(path), { owner, bytes });
  }

  #recordFile({ run, kind, name }: WeightsPath): string {
    return join(this.#place(run, kind), `${name}.json`);
  }

  #place(run: string, kind: WeightsKind): string {
    return join(this.#folder, run.replaceAll(":", "_"), kind);
  }

  /** Null: there is none, or it is damaged, which must not keep a server from starting. */
  #read(path: WeightsPath): SavedRecord | null {
    try {
      return JSON.parse(readFileSync(this.#recordFile(path), "utf8")) as SavedRecord | null;
    } catch {
      return null;
    }
  }
}

/** Of a file, or of all files in a directory; 0: there is none. */
function bytesIn(place: string): number {
  const found = statSync(place, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found?.size ?? 0;
  return readdirSync(place).reduce((sum, file) => sum + bytesIn(join(place, file)), 0);
}

function filesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
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
