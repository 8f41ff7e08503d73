/** Cuts data into requests of bounded size. */
import type { WireDatum } from "../protocol/forward-backward.ts";

export interface ChunkLimits {
  readonly chunkData: number;
  readonly chunkBytes: number;
}

/** In order; a datum beyond the limit of bytes gets a chunk of its own. */
export function chunksOf(
  data: readonly WireDatum[],
  { chunkData, chunkBytes }: ChunkLimits,
  encoding: "protobuf" | "json" = "protobuf",
): readonly WireDatum[][] {
  const chunks: WireDatum[][] = [];
  let bytes = 0;
  for (const datum of data) {
    const own = encoding === "json" ? jsonBytes(datum) : protoBytes(datum);
    const last = chunks.at(-1);
    if (last === undefined || last.length >= chunkData || bytes + own > chunkBytes) {
      chunks.push([datum]);
      bytes = own;
    } else {
      last.push(datum);
      bytes += own;
    }
  }
  return chunks;
}

/** As sent in JSON: every number with its digits and a comma. */
function jsonBytes({ tokens, inputs }: WireDatum): number {
  let bytes = 0;
  for (const values of [tokens, ...Object.values(inputs).map((tensor) => tensor.values)])
    for (const value of values) bytes += String(value).length + 1;
  return bytes;
}

/** As sent in protobuf: whole numbers of tensors take eight bytes. */
function protoBytes({ tokens, inputs }: WireDatum): number {
  return Object.values(inputs).reduce(
    (sum, { values }) => sum + (values instanceof Float32Array ? 4 : 8) * values.length,
    4 * tokens.length,
  );
}
