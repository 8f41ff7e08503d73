import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TroupeError } from "../errors.ts";
import { openSafetensors, readTensor } from "./safetensors.ts";
import { writeSafetensors, writeSafetensorsDurably } from "./safetensors-write.ts";
import { failure, temporaryFolder } from "./test-model.ts";
import { checkWeights, openWeights } from "./weights.ts";

const folder = temporaryFolder();
const never = (): boolean => false;
const tensors = [
  { name: "a", shape: [2, 3], values: () => Float32Array.of(1, -2, 0.5, 4, 1.25, -0.0) },
  { name: "b", shape: [1], values: () => Float32Array.of(7) },
  { name: "empty", shape: [0, 4], values: () => new Float32Array(0) },
];

function raw(name: string, header: unknown, data: Uint8Array = new Uint8Array(0)): string {
  const text = Buffer.from(typeof header === "string" ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const file = join(folder, name);
  writeFileSync(file, Buffer.concat([length, text, data]));
  return file;
}

const entry = (begin: number, end: number, shape = [(end - begin) / 4]): unknown => ({
  dtype: "F32",
  shape,
  data_offsets: [begin, end],
});

describe("a written file", () => {
  test.each(["F32", "BF16", "F16"] as const)("reads back the same numbers in %s", async (format) => {
    const file = join(folder, `written-${format}.safetensors`);
    await writeSafetensors(file, tensors, { format, metadata: { note: "yes" } });
    const opened = await openSafetensors(file);
    expect(opened.metadata).toEqual({ note: "yes" });
    expect([...opened.tensors.values()].map(({ name, format: f, shape }) => [name, f, shape])).toEqual(
      tensors.map(({ name, shape }) => [name, format, shape]),
    );
    for (const { name, values } of tensors) expect(await readTensor(opened, name)).toEqual(values());
  });

  test("has the format's layout: length, padded header, data", async () => {
    const file = join(folder, "layout.safetensors");
    await writeSafetensors(file, tensors.slice(1, 2));
    const bytes = readFileSync(file);
    const length = Number(bytes.readBigUInt64LE(0));
    expect(length % 8).toBe(0);
    expect(JSON.parse(bytes.toString("utf8", 8, 8 + length))).toEqual({
      __metadata__: {},
      b: { dtype: "F32", shape: [1], data_offsets: [0, 4] },
    });
    expect(bytes.subarray(8 + length)).toEqual(Buffer.from(Float32Array.of(7).buffer));
  });

  test("spans several reads when a tensor is large", async () => {
    const values = Float32Array.from({ length: 1_300_000 }, (_, i) => i);
    const file = join(folder, "large.safetensors");
    await writeSafetensors(file, [{ name: "w", shape: [values.length], values: () => values }]);
    const read = await readTensor(await openSafetensors(file), "w");
    expect(Buffer.from(read.buffer).equals(Buffer.from(values.buffer))).toBe(true);
  });

  test("leaves nothing behind if its values are not available", async () => {
    const place = join(folder, "durable");
    mkdirSync(place);
    const broken = { name: "w", shape: [1], values: () => Promise.reject(new Error("gone")) };
    await expect(writeSafetensorsDurably(join(place, "x.safetensors"), [broken])).rejects.toThrow("gone");
    expect(readdirSync(place)).toEqual([]);
  });

  test("rejects weights that the format cannot represent", async () => {
    const huge = [{ name: "w", shape: [1], values: () => Float32Array.of(1e6) }];
    const message = await failure("bad_arguments", () =>
      writeSafetensors(join(folder, "huge.safetensors"), huge, { format: "F16" }),
    );
    expect(message).toContain("w has weights that are too large for F16");
  });
});

const start = (length: number, ...text: number[]) => Buffer.from([length, 0, 0, 0, 0, 0, 0, 0, ...text]);
const typed = (dtype?: string) => ({ t: { dtype, shape: [1], data_offsets: [0, 4] } });

describe("a damaged file is rejected by name:", () => {
  const four = new Uint8Array(4);
  const eight = new Uint8Array(8);
  test.each<readonly [string, Uint8Array | readonly [header: unknown, data?: Uint8Array]]>([
    ["holds 5 bytes", Buffer.alloc(5)],
    ["ends inside its header", start(99, 123)],
    ["which is too long", Buffer.alloc(64, 0xff)],
    ["not JSON", ["{nonsense"]],
    ["not JSON", start(2, 0xff, 0xfe)],
    ["not a JSON object", [[]]],
    ["tensor t lacks", [typed(), four]],
    ["tensor t lacks", [{ t: entry(-4, 0, [1]) }, four]],
    ["tensor t lacks", [{ t: entry(0, 4, [0.5]) }, four]],
    ["unknown dtype Q4", [typed("Q4"), four]],
    ["tensor t has the dtype I32", [typed("I32"), four]],
    ["needs 8 bytes", [{ t: entry(0, 4, [2]) }, four]],
    ["u overlaps", [{ t: entry(0, 8), u: entry(4, 8) }, eight]],
    ["gap before tensor u", [{ t: entry(0, 4), u: entry(8, 12) }, new Uint8Array(12)]],
    ["ends inside tensor t", [{ t: entry(0, 8) }, four]],
    ["4 extra bytes after its last tensor", [{ t: entry(0, 4) }, eight]],
    ["__metadata__", [{ __metadata__: { a: 1 } }]],
  ])("%s", async (expected, made) => {
    const file = made instanceof Uint8Array ? write("bytes", made) : raw("raw", ...made);
    const message = await failure("bad_model", () => readAll(file));
    expect(message).toContain(expected);
    expect(message).toContain(file);
  });

  test("a file that is missing, or a folder", async () => {
    const missing = join(folder, "none.safetensors");
    expect(await failure("bad_model", () => readAll(missing))).toContain("cannot be opened");
    expect(await failure("bad_model", () => readAll(folder))).toContain("is a folder; expected a file");
  });
});

function write(name: string, bytes: Uint8Array): string {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return file;
}

async function readAll(file: string): Promise<void> {
  const opened = await openSafetensors(file);
  for (const name of opened.tensors.keys()) await readTensor(opened, name);
}

async function original(): Promise<Buffer> {
  const file = join(folder, "original.safetensors");
  await writeSafetensors(file, tensors);
  return readFileSync(file);
}

/** The error's code, `fine` without an error, and `crash` for any other error. */
async function outcome(file: string): Promise<string> {
  return readAll(file).then(
    () => "fine",
    (error: unknown) => (error instanceof TroupeError ? error.code : `crash: ${String(error)}`),
  );
}

describe("a damaged file", () => {
  test("truncated anywhere is bad_model", async () => {
    const bytes = await original();
    const property = fc.asyncProperty(fc.nat(bytes.length - 1), async (length) => {
      expect(await outcome(write("truncated", bytes.subarray(0, length)))).toBe("bad_model");
    });
    await expect(fc.assert(property, { numRuns: 150 })).resolves.toBeUndefined();
  });

  test("with bytes changed anywhere is read or bad_model, never another error", async () => {
    const bytes = await original();
    const change = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }));
    const property = fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      const changed = Buffer.from(bytes);
      for (const [at, bits] of changes) changed[at] = (changed[at] as number) ^ bits;
      expect(["fine", "bad_model"]).toContain(await outcome(write("flipped", changed)));
    });
    await expect(fc.assert(property, { numRuns: 300 })).resolves.toBeUndefined();
  });
});

describe("weights of a directory", () => {
  const expected = tensors.map(({ name, shape }) => ({ name, shape }));
  async function sharded(name: string, map: Record<string, unknown>): Promise<string> {
    const directory = join(folder, name);
    mkdirSync(directory, { recursive: true });
    await writeSafetensors(join(directory, "model-1.safetensors"), tensors.slice(0, 1));
    await writeSafetensors(join(directory, "model-2.safetensors"), tensors.slice(1), { format: "BF16" });
    writeFileSync(join(directory, "model.safetensors.index.json"), JSON.stringify({ weight_map: map }));
    return directory;
  }
  const good = { a: "model-1.safetensors", b: "model-2.safetensors", empty: "model-2.safetensors" };

  test("are found in shards", async () => {
    const directory = await sharded("shards", good);
    const weights = await openWeights(directory, "model");
    checkWeights(directory, weights, expected, never);
    expect([...weights].map(([name, file]) => [name, file.path])).toEqual(
      Object.entries(good).map(([name, file]) => [name, join(directory, file)]),
    );
  });

  test.each([
    ["a tensor in the wrong shard", { ...good, a: "model-2.safetensors" }, "has no tensor a"],
    ["a missing shard", { ...good, a: "model-3.safetensors" }, "cannot be opened"],
    ["a shard outside the directory", { ...good, a: "../model-1.safetensors" }, "same folder as the index"],
    ["an empty index", {}, "no weight_map"],
  ])("with %s are rejected", async (name, map, message) => {
    const directory = await sharded(name, map);
    expect(await failure("bad_model", () => openWeights(directory, "model"))).toContain(message);
  });

  test("that are missing, of another shape or unexpected are rejected by name", async () => {
    const directory = await sharded("checked", good);
    const weights = await openWeights(directory, "model");
    const check = (list: typeof expected) => () => checkWeights(directory, weights, list, never);
    expect(await failure("bad_model", check([...expected, { name: "c", shape: [1] }]))).toContain(
      "no tensor c of shape [1]",
    );
    expect(await failure("bad_model", check(expected.slice(1)))).toContain(
      "the tensor a, which this model does not have",
    );
    const other = expected.map((tensor) => (tensor.name === "a" ? { name: "a", shape: [3, 2] } : tensor));
    expect(await failure("bad_model", check(other))).toContain(
      "tensor a has the shape [2, 3]; expected [3, 2]",
    );
    checkWeights(directory, weights, expected.slice(1), (name) => name === "a");
  });
});
