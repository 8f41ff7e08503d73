/** A model directory of a published shape and vocabulary with random weights: what it costs is real, what it says is not. */
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeSafetensorsDurably } from "../../src/models/safetensors-write.ts";
import { drawFloat, drawInt, generatorOf, keyAt, rootKey, type Generator } from "../../src/random.ts";
import { chatTemplate } from "../../src/text/byte-tokenizer.ts";
import { likeQwen3, writeLargeTokenizer } from "../../src/text/testing/large-tokenizer.ts";

interface Shape {
  readonly architecture: string;
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim?: number;
  readonly vocab_size: number;
}

const shapes = JSON.parse(readFileSync(new URL("../torch/shapes.json", import.meta.url), "utf8")) as Readonly<
  Record<string, Shape>
>;

/** @param layers 0: all of the shape */
export async function makeModel(directory: string, name: string, layers: number): Promise<void> {
  const known = shapes[name];
  if (known === undefined)
    throw new Error(`there is no shape ${name}; expected one of ${Object.keys(shapes).join(", ")}`);
  const { architecture, ...sizes } = known;
  const shape = { ...known, num_hidden_layers: layers === 0 ? known.num_hidden_layers : layers };
  await mkdir(directory, { recursive: true });
  writeLargeTokenizer(directory, {
    ...likeQwen3,
    config: { ...likeQwen3.config, chat_template: chatTemplate },
  });
  const config = { ...sizes, num_hidden_layers: shape.num_hidden_layers, architectures: [architecture] };
  const more = { hidden_act: "silu", torch_dtype: "bfloat16", attention_dropout: 0 };
  await writeFile(join(directory, "config.json"), JSON.stringify({ ...config, ...more }, null, 2));
  const tensors = tensorsOf(shape).map(({ name: tensor, shape: dimensions }) => ({
    name: tensor,
    shape: dimensions,
    values: () => weights(tensor, dimensions),
  }));
  await writeSafetensorsDurably(join(directory, "model.safetensors"), tensors, { format: "BF16" });
}

interface Named {
  readonly name: string;
  readonly shape: readonly number[];
}

function tensorsOf(shape: Shape): Named[] {
  const { hidden_size: hidden, intermediate_size: inner, vocab_size: vocabulary } = shape;
  return [
    { name: "model.embed_tokens.weight", shape: [vocabulary, hidden] },
    ...Array.from({ length: shape.num_hidden_layers }, (_, index) =>
      layerOf(shape).map((one) => ({ ...one, name: `model.layers.${index}.${one.name}` })),
    ).flat(),
    { name: "model.norm.weight", shape: [hidden] },
  ];

  function layerOf({
    architecture,
    num_attention_heads: heads,
    num_key_value_heads: pairs,
    head_dim,
  }: Shape): Named[] {
    const size = head_dim ?? hidden / heads;
    const biased = architecture === "Qwen2ForCausalLM";
    const normed = architecture === "Qwen3ForCausalLM";
    const projection = (name: string, rows: number): Named[] => [
      { name: `self_attn.${name}_proj.weight`, shape: [rows * size, hidden] },
      ...(biased ? [{ name: `self_attn.${name}_proj.bias`, shape: [rows * size] }] : []),
      ...(normed && name !== "v" ? [{ name: `self_attn.${name}_norm.weight`, shape: [size] }] : []),
    ];
    return [
      { name: "input_layernorm.weight", shape: [hidden] },
      ...projection("q", heads),
      ...projection("k", pairs),
      ...projection("v", pairs),
      { name: "self_attn.o_proj.weight", shape: [hidden, heads * size] },
      { name: "post_attention_layernorm.weight", shape: [hidden] },
      { name: "mlp.gate_proj.weight", shape: [inner, hidden] },
      { name: "mlp.up_proj.weight", shape: [inner, hidden] },
      { name: "mlp.down_proj.weight", shape: [hidden, inner] },
    ];
  }
}

/** Drawn once: hundreds of millions of normal numbers would take a minute. Each row begins somewhere else in it. */
const pool = normals(generatorOf(rootKey(1)), 2 ** 20);

function weights(name: string, shape: readonly number[]): Float32Array {
  const length = shape.reduce((product, size) => product * size, 1);
  if (name.endsWith("norm.weight")) return new Float32Array(length).fill(1);
  const values = new Float32Array(length);
  if (name.endsWith("bias")) return values;
  const row = shape[1] ?? length;
  const generator = generatorOf(keyAt(rootKey(2), name));
  for (let at = 0; at < length; at += row) {
    const from = drawInt(generator, pool.length - row);
    values.set(pool.subarray(from, from + row), at);
  }
  return values;
}

/** Of deviation 0.02 (Box and Muller). */
function normals(generator: Generator, count: number): Float32Array {
  return Float32Array.from({ length: count }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - drawFloat(generator)));
    return 0.02 * radius * Math.cos(2 * Math.PI * drawFloat(generator));
  });
}
