import { describe, expect, test } from "vitest";
import { readModelShape } from "./model-config.ts";
import { failure } from "./test-model.ts";

const llama = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 100,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  max_position_embeddings: 128,
};
const of = (architecture: string, more: object = {}): Record<string, unknown> => ({
  ...llama,
  architectures: [architecture],
  ...more,
});
const shapeOf = (config: Record<string, unknown>) => readModelShape("config.json", config);

function frequencies(more: object): number[] {
  return [...(shapeOf({ ...llama, ...more }).inverseFrequencies[0] ?? [])];
}

test("absent settings of Llama's config have transformers' defaults", () => {
  expect(shapeOf(llama)).toEqual({
    vocabularySize: 100,
    hiddenSize: 32,
    intermediateSize: 48,
    layers: 2,
    heads: 4,
    keyValueHeads: 4,
    headSize: 8,
    maxLength: 128,
    rmsEpsilon: 1e-6,
    normOffset: 0,
    queryScalar: 8,
    embeddingScale: 1,
    activation: "silu",
    queryKeyValueBias: false,
    queryKeyNorm: false,
    fusedProjections: false,
    normedOutputs: false,
    tiedEmbeddings: false,
    valueHead: false,
    windows: Int32Array.of(0, 0),
    layerRopes: Int32Array.of(0, 0),
    // 10000^(−2i/8)
    inverseFrequencies: [Float32Array.of(1, 0.1, 0.01, 0.001)],
    ropeFactors: Float32Array.of(1),
  });
});

test("the architectures differ in bias, norms and head size", () => {
  expect(shapeOf(of("Qwen2ForCausalLM"))).toMatchObject({
    queryKeyValueBias: true,
    queryKeyNorm: false,
    headSize: 8,
  });
  expect(shapeOf(of("Qwen3ForCausalLM"))).toMatchObject({
    queryKeyValueBias: false,
    queryKeyNorm: true,
    headSize: 128,
  });
  expect(shapeOf(of("Qwen3ForCausalLM", { head_dim: 16 }))).toMatchObject({ headSize: 16 });
  expect(shapeOf({ ...llama, architectures: undefined, model_type: "mistral" })).toMatchObject({ heads: 4 });
});

describe("windows are those of transformers", () => {
  const mixed = [1, 0, 1, 0, 1, 0].map((slides) => (slides ? "sliding_attention" : "full_attention"));
  const on = { use_sliding_window: true };
  test.each([
    ["Mistral", { sliding_window: 50 }, [50, 50, 50, 50, 50, 50]],
    ["Mistral", { sliding_window: null }, [0, 0, 0, 0, 0, 0]],
    ["Mistral", {}, [4096, 4096, 4096, 4096, 4096, 4096]],
    ["Phi3", {}, [0, 0, 0, 0, 0, 0]],
    ["Phi3", { sliding_window: 2047 }, [2047, 2047, 2047, 2047, 2047, 2047]],
    ["Qwen2", { sliding_window: 50 }, [0, 0, 0, 0, 0, 0]],
    ["Qwen2", { sliding_window: 50, ...on }, [0, 0, 0, 0, 0, 0]],
    ["Qwen2", { sliding_window: 50, ...on, max_window_layers: 4 }, [0, 0, 0, 0, 50, 50]],
    ["Qwen3", { ...on, max_window_layers: 0 }, [4096, 4096, 4096, 4096, 4096, 4096]],
    ["Qwen3", { ...on, sliding_window: null, max_window_layers: 0 }, [0, 0, 0, 0, 0, 0]],
    ["Qwen3", { sliding_window: 50, ...on, layer_types: mixed }, [50, 0, 50, 0, 50, 0]],
    ["SmolLM3", { sliding_window: 50 }, [0, 0, 0, 0, 0, 0]],
    ["SmolLM3", { sliding_window: 50, ...on }, [0, 0, 0, 50, 0, 0]],
    ["SmolLM3", { sliding_window: 50, ...on, no_rope_layers: [0, 1, 1, 1, 1, 0, 0] }, [50, 0, 0, 0, 0, 50]],
    ["Gemma3", { sliding_window: 512 }, [512, 512, 512, 512, 512, 0]],
    ["Gemma3", {}, [4096, 4096, 4096, 4096, 4096, 0]],
    ["Gemma3", { sliding_window: 512, sliding_window_pattern: 2 }, [512, 0, 512, 0, 512, 0]],
    ["Gemma3", { sliding_window: 512, layer_types: mixed }, [512, 0, 512, 0, 512, 0]],
    ["Gemma3", { _sliding_window_pattern: 2, layer_types: mixed }, [4096, 0, 4096, 0, 4096, 0]],
  ] as const)("%s %j", (family, settings, windows) => {
    const shape = shapeOf(of(`${family}ForCausalLM`, { num_hidden_layers: 6, ...settings }));
    expect([...shape.windows]).toEqual(windows);
    expect(shape.maxLength).toBe(128);
  });
});

describe("rotation by layer", () => {
  const six = { num_hidden_layers: 6, head_dim: 8 };

  test("SmolLM3 has none in every fourth layer, or where no_rope_layers has 0", () => {
    const ropes = (more: object) => [...shapeOf(of("SmolLM3ForCausalLM", { ...six, ...more })).layerRopes];
    expect(ropes({})).toEqual([0, 0, 0, -1, 0, 0]);
    expect(ropes({ no_rope_layer_interval: 2 })).toEqual([0, -1, 0, -1, 0, -1]);
    expect(ropes({ no_rope_layers: [1, 0, 0, 1, 1, 1] })).toEqual([0, -1, -1, 0, 0, 0]);
    const [turns] = shapeOf(of("SmolLM3ForCausalLM", six)).inverseFrequencies;
    expect(turns?.[1]).toBe(Math.fround(1 / Math.fround(2e6 ** 0.25)));
  });

  test("Gemma 3 has other frequencies in layers with a window", () => {
    const scaled = { rope_type: "linear", factor: 8 };
    const old = { rope_theta: 1e4, rope_local_base_freq: 1e8, rope_scaling: scaled };
    const full_attention = { ...scaled, rope_theta: 1e4 };
    const sliding_attention = { rope_type: "default", rope_theta: 1e8 };
    for (const settings of [old, { rope_parameters: { full_attention, sliding_attention } }]) {
      const shape = shapeOf(of("Gemma3ForCausalLM", { ...six, ...settings }));
      expect(shape.layerRopes).toEqual(Int32Array.of(1, 1, 1, 1, 1, 0));
      expect(shape.inverseFrequencies).toEqual([
        Float32Array.of(1 / 8, Math.fround(0.1) / 8, Math.fround(0.01) / 8, Math.fround(0.001) / 8),
        Float32Array.of(1, 0.01, 0.0001, 0.000001),
      ]);
    }
    const usual = shapeOf(of("Gemma3ForCausalLM", six));
    const first = usual.inverseFrequencies.map((each) => each[2]);
    expect(first).toEqual([Math.fround(0.001), Math.fround(0.01)]);
    expect(usual).toMatchObject({
      queryScalar: 256,
      embeddingScale: Math.fround(Math.sqrt(32)),
      normOffset: 1,
    });
    expect(usual).toMatchObject({ tiedEmbeddings: true, normedOutputs: true, activation: "gelu_tanh" });
  });

  test("of Phi-3: a part of each head, divided by short_factor, up to the original length", () => {
    const scaling = { type: "longrope", short_factor: [1, 2], long_factor: [3, 4] };
    const settings = {
      partial_rotary_factor: 0.5,
      original_max_position_embeddings: 32,
      rope_scaling: scaling,
    };
    const shape = shapeOf(of("Phi3ForCausalLM", { ...settings, rope_theta: 100 }));
    expect(shape).toMatchObject({ maxLength: 32, headSize: 8, rmsEpsilon: 1e-5, fusedProjections: true });
    expect(shape.inverseFrequencies).toEqual([Float32Array.of(1, Math.fround(0.1) / 2)]);
    expect(shape.ropeFactors).toEqual(Float32Array.of(Math.sqrt(1 + Math.log(4) / Math.log(32))));
    const plain = shapeOf(of("Phi3ForCausalLM", { partial_rotary_factor: 0.75, sliding_window: 2047 }));
    expect(plain).toMatchObject({ maxLength: 128, ropeFactors: Float32Array.of(1) });
    expect(plain.inverseFrequencies[0]).toHaveLength(3);
  });
});

const sliding = ["full_attention", "sliding_attention"];
const longrope = { type: "longrope", short_factor: [1], long_factor: [1] };
const rejected: (readonly [family: string, settings: object, ...fragments: string[]])[] = [
  ["GptNeo", {}, "GptNeoForCausalLM", "LlamaForCausalLM", "Qwen3ForCausalLM"],
  ["Llama", { architectures: undefined, model_type: "gpt2" }, "model_type", "gpt2"],
  ["Llama", { vocab_size: undefined }, "vocab_size is missing"],
  ["Llama", { hidden_size: 3.5 }, "hidden_size is 3.5"],
  ["Llama", { hidden_size: "32" }, 'hidden_size is "32"'],
  ["Llama", { vocab_size: 1e12 }, "vocab_size is 1000000000000"],
  ["Llama", { hidden_act: "gelu" }, "hidden_act", '"silu"'],
  ["Llama", { attention_bias: true }, "attention_bias"],
  ["Llama", { mlp_bias: true }, "mlp_bias"],
  ["Llama", { partial_rotary_factor: 0.5 }, "partial_rotary_factor"],
  ["Llama", { quantization_config: { bits: 4 } }, "quantization_config"],
  ["Llama", { num_key_value_heads: 3 }, "num_key_value_heads is 3"],
  ["Llama", { num_attention_heads: 5 }, "num_attention_heads is 5; expected a divisor of hidden_size"],
  ["Llama", { head_dim: 7 }, "head_dim is 7"],
  ["Llama", { rms_norm_eps: -1 }, "rms_norm_eps"],
  ["Llama", { tie_word_embeddings: 1 }, "tie_word_embeddings"],
  ["Llama", { rope_scaling: { rope_type: "yarn", factor: 4 } }, "rope_scaling", "yarn", "llama3"],
  ["Llama", { rope_scaling: { type: "linear", factor: 4, mscale: 1 } }, "mscale is 1; expected nothing"],
  ["Llama", { rope_scaling: { type: "linear", factor: 2 }, rope_parameters: {} }, "rope_scaling"],
  ["Llama", { rope_scaling: { type: "linear" } }, "factor is missing"],
  ["Llama", { sliding_window: 50 }, "sliding_window is 50", "no window"],
  ["Qwen2", { layer_types: sliding }, "use_sliding_window is missing", "layer_types"],
  ["Mistral", { layer_types: sliding }, "layer_types", "the same attention in every layer"],
  ["Gemma3", { layer_types: ["full_attention"] }, "each of the 2 layers"],
  ["Gemma3", { layer_types: ["full_attention", "chunked_attention"] }, "chunked_attention"],
  ["Gemma3", { sliding_window: null }, "sliding_window is null", "a window"],
  ["Gemma3", { sliding_window: null, layer_types: sliding }, "sliding_window is null"],
  ["Gemma3", { attn_logit_softcapping: 50 }, "attn_logit_softcapping is 50"],
  ["Gemma3", { hidden_activation: "gelu" }, "gelu_pytorch_tanh"],
  ["Gemma3", { use_bidirectional_attention: true }, "use_bidirectional_attention"],
  ["Gemma3", { rope_parameters: { rope_theta: 500 } }, "rope_parameters: rope_theta is 500"],
  ["Gemma3", { architectures: ["Gemma3ForConditionalGeneration"] }, "Gemma3ForCondit", "Gemma3ForCausalLM"],
  ["Gemma3", { _sliding_window_pattern: 2 }, "_sliding_window_pattern is 2; expected 6"],
  ["Phi3", { rope_scaling: { type: "linear", factor: 2 } }, "linear", "longrope"],
  ["Phi3", { rope_scaling: longrope }, "short_factor", "4 positive numbers"],
  ["Phi3", { partial_rotary_factor: 0.4 }, "partial_rotary_factor is 0.4"],
  ["SmolLM3", { no_rope_layers: [1, 2] }, "no_rope_layers is [1,2]"],
];

for (const [family, settings, ...fragments] of rejected)
  test(`rejects ${family} with ${JSON.stringify(settings)}: ${fragments[0]}`, async () => {
    const message = await failure("bad_model", () => shapeOf(of(`${family}ForCausalLM`, settings)));
    for (const fragment of ["config.json", ...fragments]) expect(message).toContain(fragment);
  });

describe("rotary frequencies", () => {
  test("are divided by a linear factor", () => {
    const plain = frequencies({ rope_theta: 500 });
    const linear = frequencies({ rope_theta: 500, rope_scaling: { type: "linear", factor: 4 } });
    expect(linear).toEqual(plain.map((frequency) => Math.fround(frequency / 4)));
  });

  test("are read from transformers 5's rope_parameters too", () => {
    expect(frequencies({ rope_parameters: { rope_type: "default", rope_theta: 500 } })).toEqual(
      frequencies({ rope_theta: 500 }),
    );
    expect(frequencies({ rope_scaling: null })).toEqual(frequencies({}));
  });

  test("of Llama 3: unchanged at short wavelengths, divided at long ones, blended in between", () => {
    const scaling = { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4 };
    const context = { original_max_position_embeddings: 640 };
    const [first, second, third, last] = frequencies({ rope_scaling: { ...scaling, ...context } });
    // Wavelengths 6.3, 63, 628 and 6283 against 640/4 = 160 and 640/1 = 640.
    expect([first, second, last]).toEqual([1, Math.fround(0.1), Math.fround(0.001 / 8)]);
    const smooth = (640 / (2 * Math.PI * 100) - 1) / 3;
    expect(third).toBeCloseTo(((1 - smooth) * 0.01) / 8 + smooth * 0.01, 9);
  });
});
