/**
 * Archives of directories, of plain files alone: links may lead anywhere. One that a server sends is read without its
 * compression, and no more of it than an honest one can have.
 */
import { createReadStream } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { pipeline as connected, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import type { TarHeader } from "modern-tar";
import { packTar, unpackTar, type TarSource } from "modern-tar/fs";
import { bounded } from "../../../calls/http.ts";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { showBytes } from "../../../format.ts";

/** Weights in files of a few gigabytes are far fewer. */
const mostEntries = 10_000;
/** In characters, of a path. */
const longestName = 1000;

/** A directory's files, in the order of their names. */
export async function* tarOf(directory: string): AsyncGenerator<Buffer> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const sources = await Promise.all(
    files.toSorted().map((source) => sourceOf(source, relative(directory, source))),
  );
  yield* packTar(sources) as AsyncIterable<Buffer>;
}

/**
 * As a stream, without the file's rights and owner, which are of this machine. From its path, the second of two
 * hard-linked files would become a link.
 */
async function sourceOf(source: string, target: string): Promise<TarSource> {
  const { size, mtime } = await lstat(source);
  if (size === 0) return { type: "content", content: "", target, mtime };
  return { type: "stream", content: Readable.from(contentsOf(source)), size, target, mtime };
}

/** Opened when its turn comes. */
async function* contentsOf(source: string): AsyncGenerator<Buffer> {
  yield* createReadStream(source) as AsyncIterable<Buffer>;
}

/**
 * Writes an archive's files below the directory.
 * @throws TroupeError `bad_model` if it is damaged, or has a name that leads elsewhere or something other than files;
 * whatever the archive's source throws
 */
export async function extractTar(archive: AsyncIterable<Uint8Array>, directory: string): Promise<void> {
  let entries = 0;
  const [names, folders] = [new Set<string>(), new Set<string>()];
  const filter = ({ name: given, type, pax = {} }: TarHeader): boolean => {
    if (++entries > mostEntries) throw damaged(`it has more than ${mostEntries} entries`);
    if (type === "directory") return false;
    const isSparse = Object.keys(pax).some((key) => key.startsWith("GNU.sparse."));
    if (type !== "file" || isSparse) throw damaged(`${JSON.stringify(given)} is not a plain file`);
    const name = given.replace(/^\.\//, "");
    const leadsElsewhere = name.split("/").some((part) => ["", ".", ".."].includes(part));
    // A drive's letter or a backslash would be changed, and might make it another file's name.
    if (leadsElsewhere || /[\\\0]|^[a-z]:/i.test(name))
      throw damaged(`the name ${JSON.stringify(given)} leads elsewhere`);
    if (names.has(name)) throw damaged(`it has ${JSON.stringify(name)} twice`);
    if (name.length > longestName) throw damaged(`it has a name of more than ${longestName} characters`);
    names.add(name);
    const parts = name.split("/");
    const own = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("/"));
    for (const folder of own) folders.add(folder);
    // Whether the file system says so depends on how far the file has been written.
    const both = [name, ...own].find((each) => names.has(each) && folders.has(each));
    if (both !== undefined) throw damaged(`${JSON.stringify(both)} is a file and a folder`);
    return true;
  };
  try {
    await pipeline(archive, unpackTar(directory, { strict: true, fmode: 0o644, filter }));
  } catch (error) {
    // Errors of the disk, the connection and the decompression have a code.
    if (!(error instanceof Error) || error instanceof TroupeError || "code" in error) throw error;
    throw damaged(error.message.replace(/\.$/, ""), error);
  }
}

function damaged(what: string, cause?: Error): TroupeError {
  return new TroupeError("bad_model", `The archive is not understood: ${what}.`, { cause });
}

/** Weights hardly shrink, except what is still zero: an adapter's half, and an optimizer's moments. */
const mostExpansion = 20;
/** Bytes that are no question of expansion. */
const allowance = 2 ** 26;
/** A compressed archive may be compressed once more for its transport. */
const mostLayers = 2;

const formats = [
  { start: [0x1f, 0x8b], open: () => createGunzip() },
  {
    start: [0x28, 0xb5, 0x2f, 0xfd],
    // 128 MiB, the most that compressors use without being told to.
    open: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 27 } }),
  },
] as const;

/** @throws TroupeError `bad_model` once it is longer than `mostBytes`, or than compressed weights can become */
export async function* expanded(
  archive: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Uint8Array> {
  let [received, bytes] = [0, 0];
  const counted = bounded(archive, Infinity, (length) => (received = length));
  for await (const piece of await plain(counted, mostLayers)) {
    bytes += piece.length;
    if (bytes > mostBytes) throw tooLong(mostBytes);
    if (bytes > allowance + mostExpansion * received) throw notWeights(bytes, received);
    yield piece;
  }
}

export function tooLong(mostBytes: number): TroupeError {
  return new TroupeError(
    "bad_model",
    `The archive has more than ${showBytes(mostBytes)}, which weights of this policy cannot have.`,
  );
}

function notWeights(bytes: number, received: number): TroupeError {
  const sizes = `${showBytes(received)} of it have become ${showBytes(bytes)}`;
  return new TroupeError("bad_model", `The archive is not one of weights: ${sizes}.`);
}

async function plain(body: AsyncIterable<Uint8Array>, layers: number): Promise<AsyncIterable<Uint8Array>> {
  const pieces = body[Symbol.asyncIterator]();
  const { value: start, done } = await pieces.next();
  if (done === true) throw new ServiceError("The archive is empty.");
  const whole = (async function* () {
    yield start;
    yield* { [Symbol.asyncIterator]: () => pieces };
  })();
  const format = formats.find((each) => each.start.every((byte, index) => start[index] === byte));
  if (format === undefined || layers === 0) return whole;
  return plain(
    connected(Readable.from(whole), format.open(), () => undefined),
    layers - 1,
  );
}
