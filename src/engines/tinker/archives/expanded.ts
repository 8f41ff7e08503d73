/** What a server sends as an archive, without its compression, and no more of it than an honest one can have. */
import { pipeline, Readable } from "node:stream";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { ServiceError, TroupeError } from "../../../errors.ts";
import { showBytes } from "../../../format.ts";

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
export async function* expanded(archive: AsyncIterable<Buffer>, mostBytes: number): AsyncGenerator<Buffer> {
  let [received, bytes] = [0, 0];
  const counted = counting(archive, (length) => (received += length));
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

async function* counting(
  pieces: AsyncIterable<Buffer>,
  count: (length: number) => void,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    count(piece.length);
    yield piece;
  }
}

async function plain(body: AsyncIterable<Buffer>, layers: number): Promise<AsyncIterable<Buffer>> {
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
    pipeline(Readable.from(whole), format.open(), () => undefined),
    layers - 1,
  );
}
