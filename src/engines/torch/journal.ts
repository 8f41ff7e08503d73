/**
 * What a new worker must repeat to have the policies that one had which ended: how each was created, the newest state of
 * it on disk, and the verbs that changed it since. The order of different policies is kept, because data can be of several.
 */
import { readdirSync, statSync } from "node:fs";
import path from "node:path";
import { TroupeError } from "../../errors.ts";
import type { PolicyName } from "../engine.ts";
import type { FrameArray } from "./frames.ts";

/** A verb that has changed policies. */
export interface Change {
  readonly verb: string;
  readonly header: Readonly<Record<string, unknown>>;
  readonly arrays: Readonly<Record<string, FrameArray>>;
  /** Files that it reads, as they were then. */
  readonly files: Files;
  /** Of a step: the length of its gradient, which a repetition must have, too. */
  readonly gradientNorm?: number | undefined;
}

export interface Kept extends Change {
  /** Of those that it changes, the ones that still need it. */
  readonly policies: readonly PolicyName[];
}

const changing = new Set([
  "create",
  "fill",
  "remove",
  "copy",
  "tokenBytes",
  "forwardBackward",
  "optimStep",
  "zeroGradients",
  "restore",
]);
const reading = new Set(["sample", "forward", "predictMemory", "readTensor", "write", "writeOptimizer"]);
/** Of a policy whose state is read from files, all else before it has no effect. */
const lasting = new Set(["create", "tokenBytes"]);

export class Journal {
  #kept: Kept[] = [];
  #bytes = 0;

  /** Whatever changes nothing is ignored. */
  add(change: Change): void {
    if (reading.has(change.verb)) return;
    // One that was forgotten here would be missing after a restart, without a word.
    if (!changing.has(change.verb)) throw new Error(`It is not known what ${change.verb} changes.`);
    this.#kept.push({ ...change, policies: policiesIn(change) });
    this.#bytes += bytesOf(change);
    if (isReset(change)) this.#shorten();
  }

  /** The policy has been saved with everything but gradients. */
  saved(name: PolicyName, directory: string, optimizer: string): void {
    const last = this.#kept.findLast(({ policies }) => policies.includes(name));
    // Gradients are not on disk. The next save will do.
    if (last?.verb === "forwardBackward") return;
    const header = { name, directory, optimizer };
    this.add({ verb: "restore", header, arrays: {}, files: filesOf(header) });
  }

  /** A checkpoint's folder gets its name once everything in it has been saved. */
  moved(from: string, to: string): void {
    const renamed = (place: string): string =>
      place.startsWith(from + path.sep) ? to + place.slice(from.length) : place;
    this.#kept = this.#kept.map((each) => ({
      ...each,
      header: mapped(each.header, (value) => (typeof value === "string" ? renamed(value) : value)),
      files: Object.fromEntries(Object.entries(each.files).map(([file, was]) => [renamed(file), was])),
    }));
  }

  clear(): void {
    this.#kept = [];
    this.#bytes = 0;
  }

  /** In order. */
  get changes(): readonly Kept[] {
    return [...this.#kept];
  }

  /** Of data and other arrays. */
  get bytes(): number {
    return this.#bytes;
  }

  #shorten(): void {
    for (const name of new Set(this.#kept.flatMap(({ policies }) => policies))) this.#shortenOf(name);
    this.#kept = this.#kept.filter(({ policies }) => policies.length > 0);
    this.#bytes = this.#kept.reduce((sum, each) => sum + bytesOf(each), 0);
  }

  #shortenOf(name: PolicyName): void {
    const last = this.#kept.findLastIndex((each) => each.header["name"] === name && isReset(each));
    const firstCopy = this.#kept.findIndex(({ verb, header }) => verb === "copy" && header["name"] === name);
    // A copy needs the state that it was made of, until it is removed itself.
    if (last < 0 || (firstCopy >= 0 && firstCopy < last)) return;
    const isRemoved = this.#kept[last]?.verb === "remove";
    this.#kept = this.#kept.map((each, index) => {
      const isNeeded = index > last || (!isRemoved && (index === last || lasting.has(each.verb)));
      if (isNeeded) return index < last && each.header["name"] === name ? begun(each) : each;
      return { ...each, policies: each.policies.filter((policy) => policy !== name) };
    });
  }
}

/** An adapter whose numbers are read later needs its base alone: what it began with may have been deleted. */
function begun(change: Kept): Kept {
  const { stored, directory, base } = change.header;
  if (change.verb !== "create" || stored !== true) return change;
  const place = path.resolve(directory as string);
  const files = Object.entries(change.files).filter(([file]) => path.resolve(path.dirname(file)) !== place);
  const header = { ...change.header, directory: base, stored: false };
  return { ...change, header, files: Object.fromEntries(files) };
}

function bytesOf({ arrays }: Change): number {
  return Object.values(arrays).reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function mapped(
  header: Change["header"],
  change: (value: unknown) => unknown,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(header).map(([key, value]) => [key, change(value)]));
}

/** Whether nothing of the policy before it matters any more. */
function isReset({ verb, header }: Change): boolean {
  return verb === "remove" || (verb === "restore" && header["optimizer"] !== null);
}

/** A copy is a policy of its own; what it is made of does not change by it. */
function policiesIn({ verb, header }: Change): readonly PolicyName[] {
  if (verb === "copy") return [header["to"] as PolicyName];
  return (header["policies"] ?? [header["name"]]) as readonly PolicyName[];
}

/** Size, time and number of each file, by its path. */
export type Files = Readonly<Record<string, string>>;

/** Those of the models that a verb reads: taken before it, so that one which is replaced meanwhile is noticed. */
export function filesOf(header: Readonly<Record<string, unknown>>): Files {
  const { directory, base, optimizer } = header;
  const directories = [directory, base].filter((each) => typeof each === "string");
  const files = directories.flatMap((each) => modelFilesIn(each));
  if (typeof optimizer === "string") files.push(optimizer);
  return Object.fromEntries(files.map((file) => [file, described(file)]));
}

/** Weights and settings. */
function modelFilesIn(directory: string): readonly string[] {
  try {
    const names = readdirSync(directory).filter((name) =>
      /\.safetensors(\.index\.json)?$|^(adapter_)?config\.json$/.test(name),
    );
    return names.map((name) => path.join(directory, name));
  } catch {
    return []; // The verb that reads it says so.
  }
}

function described(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "missing" : [found.size, found.mtimeMs, found.ino].join(" ");
}

/** @throws TroupeError `bad_model` if a file is no longer what was read from it, or written to it */
export function checkFiles(files: Files): void {
  const changed = Object.keys(files).find((file) => files[file] !== described(file));
  if (changed === undefined) return;
  throw new TroupeError("bad_model", `${changed} was removed or replaced since it was read or written`);
}
