/** The samples of a batch that is not trained yet, in a checkpoint: a resumed run trains exactly these. */
import { createHash } from "node:crypto";
import path from "node:path";
import { z } from "zod";
import type { Engine, SampledSequence, SampleRequest } from "../engines/engine.ts";
import { TroupeError } from "../errors.ts";
import { readLines } from "../runs/json-lines.ts";
import { writeFileDurably } from "../runs/durable.ts";

export type Sample = Engine["sample"];

/** By request. */
export type Samples = Map<string, readonly SampledSequence[]>;

const file = "next-batch.jsonl";

const line = z.strictObject({
  request: z.string(),
  sequences: z.array(
    z.strictObject({
      tokens: z.base64(),
      logprobs: z.base64(),
      stopReason: z.enum(["stop", "length"]),
      policyVersion: z.int(),
    }),
  ),
});

/** Answers what is known, and adds what it samples. */
export function recording(samples: Samples, sample: Sample): Sample {
  return async (request, options) => {
    const key = keyOf(request);
    const known = samples.get(key) ?? samples.get(shortKeyOf(request));
    if (known !== undefined) return [...known];
    const sampled = await sample(request, options);
    samples.set(key, sampled);
    return sampled;
  };
}

/** Returns the file's name. */
export async function saveSamples(folder: string, samples: Samples): Promise<string> {
  const lines = [...samples].map(([request, sequences]) => {
    const plain = sequences.map(({ tokens, logprobs, ...rest }) => ({
      ...rest,
      tokens: encoded(tokens),
      logprobs: encoded(logprobs),
    }));
    return `${JSON.stringify({ request, sequences: plain })}\n`;
  });
  // In an order that does not depend on when samples were answered.
  await writeFileDurably(path.join(folder, file), lines.toSorted().join(""));
  return file;
}

/** @throws TroupeError `bad_run` */
export async function readSamples(folder: string, name: string): Promise<Samples> {
  const place = path.join(folder, name);
  const lines = await readLines(place);
  return new Map(
    lines.map(({ value }) => {
      const found = line.safeParse(value);
      if (!found.success)
        throw new TroupeError(
          "bad_run",
          `${place} is damaged: ${found.error.message}. Remove the checkpoint.`,
        );
      const { request, sequences } = found.data;
      return [request, sequences.map(decoded)];
    }),
  );
}

/** Of everything that decides the samples. */
function keyOf({ prompt, ...rest }: SampleRequest): string {
  const { policy, seed, count, maxTokens, temperature, topK = 0, topP = 1 } = rest;
  const { stopTokens = [], stopStrings = [] } = rest;
  const settings = [policy, seed, count, maxTokens, temperature, topK, topP, stopTokens, stopStrings];
  const hash = createHash("sha256").update(`${JSON.stringify(settings)}\n`);
  return hash.update(bytesOf(prompt)).digest("hex");
}

/** Of checkpoints of earlier versions. */
function shortKeyOf({ policy, seed, count, maxTokens, prompt }: SampleRequest): string {
  const hash = createHash("sha256").update(`${policy} ${seed} ${count} ${maxTokens} `);
  return hash.update(bytesOf(prompt)).digest("hex");
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array | Float32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Like all arrays of bytes that a run writes: little-endian, as on every supported machine. */
function encoded(values: Int32Array | Float32Array): string {
  return bytesOf(values).toString("base64");
}

function decoded({ tokens, logprobs, ...rest }: z.output<typeof line>["sequences"][number]): SampledSequence {
  return { ...rest, tokens: new Int32Array(copyOf(tokens)), logprobs: new Float32Array(copyOf(logprobs)) };
}

/** Aligned for any type of number. */
function copyOf(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text, "base64")).buffer;
}
