/** Archives of directories: plain files in the ustar format (POSIX.1-1988), which every tar reads. */
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { TroupeError } from "../../../errors.ts";

const block = 512;
/** Where a header's fields begin. */
const at = { size: 124, checksum: 148, type: 156, magic: 257, prefix: 345 } as const;
/** Sizes are eleven octal digits. */
const longestFile = 8 ** 11;
/** Of an archive of weights, in files of a few gigabytes. */
const mostEntries = 10_000;

/** A directory's files, in the order of their names. Links are left out: they may lead anywhere. */
export async function* tarOf(directory: string): AsyncGenerator<Buffer> {
  const names = (await readdir(directory, { recursive: true })).toSorted();
  for (const name of names) {
    const file = join(directory, name);
    const found = await lstat(file);
    if (!found.isFile()) continue;
    const { size, mtimeMs } = found;
    yield headerOf(name, size, Math.floor(mtimeMs / 1000));
    yield* createReadStream(file) as AsyncIterable<Buffer>;
    yield Buffer.alloc(padding(size));
  }
  yield Buffer.alloc(2 * block);
}

function headerOf(name: string, size: number, seconds: number): Buffer {
  if (Buffer.byteLength(name) > 100 || size >= longestFile)
    throw new TroupeError("unsupported", `${name} has too long a name or too many bytes for an archive.`);
  const header = Buffer.alloc(block);
  header.write(name, 0);
  header.write("0000644\0" + "0000000\0".repeat(2), 100);
  header.write(`${octal(size)} ${octal(seconds)} `, at.size);
  header.write(" ".repeat(8), at.checksum);
  header.write("0", at.type);
  header.write("ustar\u000000", at.magic);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, at.checksum);
  return header;
}

function octal(value: number): string {
  return value.toString(8).padStart(11, "0");
}

function padding(size: number): number {
  return (block - (size % block)) % block;
}

/**
 * Writes an archive's files below the directory.
 * @throws TroupeError `bad_model` if it is damaged, or has a name that leads elsewhere or something other than files
 */
export async function extractTar(archive: AsyncIterable<Buffer>, directory: string): Promise<void> {
  const source = new Source(archive);
  for (let entries = 0; ; entries++) {
    if (entries === mostEntries) throw damaged(`it has more than ${mostEntries} entries`);
    const header = await source.take(block);
    if (header.every((byte) => byte === 0)) return;
    const size = sizeOf(header);
    const type = String.fromCharCode(header[at.type] ?? 0);
    const name = nameOf(header);
    // Extended headers repeat what the plain one says, or give times and owners.
    if (type === "0" || type === "\0") await write(source.pieces(size), join(directory, safe(name)));
    else if ("5xg".includes(type)) for await (const _ of source.pieces(size));
    else throw damaged(`${JSON.stringify(name)} is not a plain file`);
    await source.take(padding(size));
  }
}

async function write(contents: AsyncIterable<Buffer>, file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await pipeline(Readable.from(contents), createWriteStream(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!["EEXIST", "EISDIR", "ENOTDIR"].includes(code ?? "")) throw error;
    throw damaged(`${JSON.stringify(basename(file))} is a file and a directory`);
  }
}

function nameOf(header: Buffer): string {
  const field = (from: number, length: number): string =>
    (header.toString("utf8", from, from + length).split("\0")[0] ?? "").replace(/^\.\//, "");
  const prefix = header.toString("latin1", at.magic, at.magic + 6) === "ustar\0" ? field(at.prefix, 155) : "";
  return prefix === "" ? field(0, 100) : `${prefix}/${field(0, 100)}`;
}

function safe(name: string): string {
  const parts = name.split("/");
  if (name.includes("\\") || parts.some((part) => part === "" || part === ".." || part === "."))
    throw damaged(`the name ${JSON.stringify(name)} leads elsewhere`);
  return name;
}

function sizeOf(header: Buffer): number {
  const text = header.toString("latin1", at.size, at.size + 12).replace(/[\0 ]+$/, "");
  if (!/^[0-7]+$/.test(text)) throw damaged("a header has no size");
  return Number.parseInt(text, 8);
}

function damaged(what: string): TroupeError {
  return new TroupeError("bad_model", `The archive is not understood: ${what}.`);
}

/** Reads a stream in pieces of given lengths. */
class Source {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#pieces = stream[Symbol.asyncIterator]();
  }

  async take(length: number): Promise<Buffer> {
    const found: Buffer[] = [];
    for await (const piece of this.pieces(length)) found.push(piece);
    return Buffer.concat(found);
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#pieces.next();
        if (next.done === true) throw damaged("it ends early");
        this.#rest = next.value;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
}
