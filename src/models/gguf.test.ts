/** Files are read back by Hugging Face's parser, their data by formulas of their own. llama.cpp reads them in tests/llama-cpp.slow.test.ts. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GGMLQuantizationType, gguf } from "@huggingface/gguf";
import { expect, test } from "vitest";
import type { JsonObject } from "../text/files.ts";
import { fixtures } from "../text/testing/fixtures.ts";
import { writePolicyGguf } from "./gguf-model.ts";
import { writeGguf, type GgufFormat } from "./gguf.ts";
import { presets } from "./presets.ts";
import { widen } from "./float-formats.ts";
import { failure, makeVariedModel, temporaryFolder, tensorsOf } from "./test-model.ts";

const folder = temporaryFolder();

interface Read {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, { dtype: number; shape: readonly number[]; values: Float32Array }>;
}

async function read(file: string): Promise<Read> {
  const { metadata, tensorInfos, tensorDataOffset } = await gguf(file, { allowLocalFile: true });
  const bytes = readFileSync(file);
  const tensors = tensorInfos.map(({ name, dtype, shape, offset }) => {
    const sizes = shape.map(Number);
    const count = sizes.reduce((product, size) => product * size, 1);
    const data = bytes.subarray(Number(tensorDataOffset + offset));
    return [name, { dtype, shape: sizes, values: valuesOf(dtype, data, count) }] as const;
  });
  return { metadata: { ...metadata }, tensors: new Map(tensors) };
}

function valuesOf(dtype: GGMLQuantizationType, data: Buffer, count: number): Float32Array {
  if (dtype === GGMLQuantizationType.F32)
    return Float32Array.from({ length: count }, (_, i) => data.readFloatLE(4 * i));
  if (dtype === GGMLQuantizationType.BF16)
    return Float32Array.from({ length: count }, (_, i) =>
      Buffer.from([0, 0, data[2 * i] ?? 0, data[2 * i + 1] ?? 0]).readFloatLE(),
    );
  expect(dtype).toBe(GGMLQuantizationType.Q8_0);
  const scale = new Float32Array(1);
  return Float32Array.from({ length: count }, (_, i) => {
    const block = Math.floor(i / 32) * 34;
    widen("F16", Uint8Array.from(data.subarray(block, block + 2)), scale);
    return (scale[0] as number) * data.readInt8(block + 2 + (i % 32));
  });
}

const sizes = { hiddenSize: 64, headSize: 16, heads: 4, keyValueHeads: 2, intermediateSize: 96 };
const preset = { ...presets.nano, ...sizes };

async function exported(
  name: string,
  style: string,
  changes: object,
  settings: object,
  format: GgufFormat,
): Promise<{ file: string; directory: string }> {
  const [place, tokenizer] = [join(folder, name), join(fixtures, style)];
  const directory = await makeVariedModel(
    place,
    { ...preset, ...changes },
    tokenizer,
    settings as JsonObject,
  );
  const file = join(folder, `${name}.gguf`);
  await writePolicyGguf(file, { directory, base: directory, text: directory }, format, "{}");
  return { file, directory };
}

test("a model with a value that is not finite is not written", async () => {
  const { directory } = await exported("nan", "qwen3", {}, { vocab_size: 400 }, "BF16");
  const file = join(directory, "model.safetensors");
  const bytes = readFileSync(file);
  bytes.fill(255, bytes.length - 4);
  writeFileSync(file, bytes);
  const files = { directory, base: directory, text: directory };
  await expect(writePolicyGguf(join(folder, "nan-again.gguf"), files, "BF16", "{}")).rejects.toThrow(
    "has a value that is not finite",
  );
});

test("a window limits the context, as llama.cpp has none for these architectures", async () => {
  const mistral = { architectures: ["MistralForCausalLM"], model_type: "mistral", sliding_window: 100 };
  const llama = { architecture: "LlamaForCausalLM" };
  const { file } = await exported("window", "qwen3", llama, { vocab_size: 400, ...mistral }, "BF16");
  const { metadata } = await read(file);
  expect(metadata).toMatchObject({ "general.architecture": "llama", "llama.context_length": 100 });
});

test.each([
  ["SmolLM3", "smollm3", { no_rope_layers: [1, 0] }],
  ["Phi3", "phi3", {}],
  ["Gemma3", "gemma3_text", { hidden_act: "gelu_pytorch_tanh" }],
])("%s is not written", async (family, model_type, more) => {
  const settings = { vocab_size: 400, architectures: [`${family}ForCausalLM`], model_type, ...more };
  const write = () => exported(family, "qwen3", { architecture: "LlamaForCausalLM" }, settings, "BF16");
  const message = await failure("bad_model", write);
  expect(message).toContain(`not for ${model_type}; use \`--to merged\``);
});

test("has the settings, the tokenizer and the chat template", async () => {
  const { file, directory } = await exported("qwen3", "qwen3", {}, { vocab_size: 400 }, "BF16");
  const { metadata } = await read(file);
  const json = JSON.parse(readFileSync(join(directory, "tokenizer.json"), "utf8")) as {
    model: { vocab: Record<string, number>; merges: string[][] };
  };
  expect(metadata).toMatchObject({
    version: 3,
    "troupe.export": "{}",
    "general.architecture": "qwen3",
    "general.file_type": 32,
    "qwen3.vocab_size": 400,
    "qwen3.context_length": 512,
    "qwen3.embedding_length": 64,
    "qwen3.block_count": 2,
    "qwen3.feed_forward_length": 96,
    "qwen3.attention.head_count": 4,
    "qwen3.attention.head_count_kv": 2,
    "qwen3.attention.key_length": 16,
    "qwen3.attention.value_length": 16,
    "qwen3.attention.layer_norm_rms_epsilon": Math.fround(1e-6),
    "qwen3.rope.dimension_count": 16,
    "qwen3.rope.freq_base": 10_000,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.merges": json.model.merges.map((pair) => pair.join(" ")),
    "tokenizer.ggml.eos_token_id": 388,
    "tokenizer.ggml.padding_token_id": 386,
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.chat_template": readFileSync(join(directory, "chat_template.jinja"), "utf8"),
  });
  const tokens = metadata["tokenizer.ggml.tokens"] as string[];
  const types = metadata["tokenizer.ggml.token_type"] as number[];
  expect(tokens.slice(0, 386)).toEqual(
    Object.entries(json.model.vocab)
      .toSorted(([, a], [, b]) => a - b)
      .map(([text]) => text),
  );
  const markup = "<tool_call> </tool_call> <tool_response> </tool_response> <think> </think>";
  const added = `<|endoftext|> <|im_start|> <|im_end|> ${markup} [PAD395] [PAD396]`.split(" ");
  expect(tokens.slice(386, 397)).toEqual(added);
  expect(types).toEqual([...Array(386).fill(1), 3, 3, 3, ...Array(6).fill(4), ...Array(5).fill(5)]);
});

/** Of head 1, whose rows of 64 are 16 to 31. */
const rowsOf = (values: Float32Array | undefined, rows: number[]) =>
  rows.map((row) => values?.subarray((16 + row) * 64, (17 + row) * 64));

test("has every tensor of a Llama, with the rows of queries and keys by neighbours, as float32", async () => {
  const changes = { architecture: "LlamaForCausalLM", tiedEmbeddings: false } as const;
  const { file, directory } = await exported("llama", "llama3", changes, {}, "F32");
  const { metadata, tensors } = await read(file);
  expect(metadata).toMatchObject({
    "general.architecture": "llama",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.add_bos_token": true,
  });
  const source = await tensorsOf(join(directory, "model.safetensors"));
  expect(tensors.size).toBe(Object.keys(source).length);
  const pairs = {
    "model.embed_tokens.weight": "token_embd.weight",
    "lm_head.weight": "output.weight",
    "model.layers.1.mlp.down_proj.weight": "blk.1.ffn_down.weight",
  };
  for (const [from, to] of Object.entries(pairs)) expect(tensors.get(to)?.values).toEqual(source[from]);
  expect(tensors.get("blk.1.ffn_down.weight")?.shape).toEqual([96, 64]);
  // The first half and the second half of its dimensions take turns.
  const written = rowsOf(tensors.get("blk.0.attn_k.weight")?.values, [...Array(16).keys()]);
  const order = [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15];
  expect(written).toEqual(rowsOf(source["model.layers.0.self_attn.k_proj.weight"], order));
});

test("writes Llama 3's scaling of rotary embeddings as divisors, and linear scaling as a setting", async () => {
  const changes = { architecture: "LlamaForCausalLM" } as const;
  const bounds = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 };
  const rope_scaling = { rope_type: "llama3", factor: 8, ...bounds };
  const scaled = await exported("llama3-rope", "llama3", changes, { rope_scaling }, "BF16");
  const { tensors } = await read(scaled.file);
  // Wavelengths 2π·10000^(i/8), i from 0: below 64/4 unchanged, above 64/1 divided by 8, blended between.
  const blended =
    1 / ((1 - (64 / (2 * Math.PI * 10) / 3 - 1 / 3)) / 8 + (64 / (2 * Math.PI * 10) / 3 - 1 / 3));
  const factors = [...(tensors.get("rope_freqs.weight")?.values ?? [])];
  expect(factors.slice(0, 1)).toEqual([1]);
  expect(factors[2]).toBeCloseTo(blended, 4);
  expect(factors.slice(3)).toEqual([8, 8, 8, 8, 8]);
  const linear = { rope_scaling: { rope_type: "linear", factor: 4 }, rope_theta: 500_000 };
  const qwen = { architecture: "Qwen2ForCausalLM" };
  const { metadata } = await read((await exported("linear-rope", "qwen2", qwen, linear, "BF16")).file);
  expect(metadata).toMatchObject({
    "qwen2.rope.scaling.type": "linear",
    "qwen2.rope.scaling.factor": 4,
    "qwen2.rope.freq_base": 500_000,
  });
  const other = () => exported("qwen-llama3-rope", "qwen2", {}, { rope_scaling }, "BF16");
  expect(await failure("bad_model", other)).toContain("for Llama only");
});

test("rounds matrices to bfloat16 or 8 bits, and keeps norms and biases", async () => {
  const changes = { architecture: "Qwen2ForCausalLM", intermediateSize: 80 } as const;
  const { file, directory } = await exported("qwen2", "qwen2", changes, {}, "Q8_0");
  const { metadata, tensors } = await read(file);
  expect(metadata["general.file_type"]).toBe(7);
  const source = await tensorsOf(join(directory, "model.safetensors"));
  const names = ["model.layers.0.self_attn.q_proj.bias", "model.norm.weight"] as const;
  expect(["blk.0.attn_q.bias", "output_norm.weight"].map((name) => tensors.get(name)?.values)).toEqual(
    names.map((name) => source[name]),
  );
  const [exact, eight] = [
    source["model.layers.0.mlp.up_proj.weight"],
    tensors.get("blk.0.ffn_up.weight"),
  ] as const;
  expect(eight?.dtype).toBe(GGMLQuantizationType.Q8_0);
  // At most half a step of 1/127 of the block's largest weight, whose scale is rounded to 11 binary digits.
  for (let block = 0; block < 64 * 80; block += 32) {
    const weights = exact?.subarray(block, block + 32) ?? [];
    const most = Math.max(...weights.map(Math.abs));
    const errors = weights.map((weight, i) => Math.abs(weight - (eight?.values[block + i] ?? Number.NaN)));
    expect(Math.max(...errors)).toBeLessThanOrEqual(most * (0.5 / 127 + 2 ** -11));
  }
  // Its rows of 80 are no whole number of blocks.
  expect(tensors.get("blk.0.ffn_down.weight")?.dtype).toBe(GGMLQuantizationType.BF16);
});

test("quantises as ggml does", async () => {
  const file = join(folder, "q8.gguf");
  const values = new Float32Array(64);
  values.set([127, -127, 2.5, -2.5, 0.5, -0.5, 0.49, 1e-9]);
  await writeGguf(file, [], [{ name: "w", shape: [2, 32], values: () => values }], "Q8_0");
  const bytes = readFileSync(file).subarray(-96);
  // A scale of 1 in float16, then the bytes; the second block is zero; 28 bytes fill up to a multiple of 32.
  expect([...bytes.subarray(0, 10)]).toEqual([0, 0x3c, 127, 129, 3, 253, 1, 255, 0, 0]);
  expect(bytes.subarray(10).every((byte) => byte === 0)).toBe(true);
  for (const broken of [Number.NaN, Infinity, 1e30]) {
    const own = new Float32Array(32).fill(1).fill(broken, 3, 4);
    const write = () => writeGguf(file, [], [{ name: "w", shape: [1, 32], values: () => own }], "Q8_0");
    expect(await failure("bad_arguments", write)).toContain("w has weights that are too large or no numbers");
  }
});
