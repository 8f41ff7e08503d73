/**
 * Exported files in llama.cpp, through llama-cpp-python in the Python that TROUPE_LLAMA_PYTHON names: its tokens are
 * those of the tokenizer, its logits and greedy continuations those of the local engine. Skipped without.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { GGMLQuantizationType, gguf } from "@huggingface/gguf";
import { beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../src/cli/testing/command.ts";
import { openEngine } from "../src/engines/open.ts";
import { initModel } from "../src/models/init.ts";
import { presets, type Preset } from "../src/models/presets.ts";
import { makeVariedModel, temporaryFolder } from "../src/models/test-model.ts";
import { drawInt, generatorOf, keyAt, rootKey } from "../src/random.ts";
import { templateSources } from "../src/text/chat-template.ts";
import { loadCoder } from "../src/text/coder.ts";
import { fixtures } from "../src/text/testing/fixtures.ts";
import { likeLlama3, likeQwen3, writeLargeTokenizer } from "../src/text/testing/large-tokenizer.ts";
import { loadTokenizer, type Message } from "../src/text/tokenizer.ts";
import { train } from "../src/train/run.ts";
import { tinyRecipe } from "../src/train/testing/tiny-recipe.ts";

const python = process.env["TROUPE_LLAMA_PYTHON"];
const script = new URL("support/llama_cpp_answers.py", import.meta.url).pathname;
const folder = temporaryFolder();
const at = (...parts: string[]): string => join(folder, ...parts);

const preset: Preset = { ...presets.tiny, heads: 4, keyValueHeads: 2, maxLength: 512 };
const llama3Rope = {
  rope_scaling: {
    rope_type: "llama3",
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 64,
  },
};

const trained = "a trained model";

/** Every architecture, small and large vocabularies, with what differs between models of one architecture. */
const models: Readonly<Record<string, () => Promise<string>>> = {
  "qwen3, tied": () => makeVariedModel(at("qwen3"), preset, join(fixtures, "qwen3"), { vocab_size: 400 }),
  "qwen2, with biases": () =>
    makeVariedModel(
      at("qwen2"),
      { ...preset, architecture: "Qwen2ForCausalLM", tiedEmbeddings: false },
      join(fixtures, "qwen2"),
      { rope_theta: 1_000_000 },
    ),
  "llama, with scaled positions": () =>
    makeVariedModel(
      at("llama"),
      { ...preset, architecture: "LlamaForCausalLM", tiedEmbeddings: false },
      join(fixtures, "llama31"),
      llama3Rope,
    ),
  "mistral, with linearly scaled positions": () =>
    makeVariedModel(
      at("mistral"),
      { ...preset, architecture: "LlamaForCausalLM" },
      join(fixtures, "llama3"),
      {
        architectures: ["MistralForCausalLM"],
        model_type: "mistral",
        rope_scaling: { rope_type: "linear", factor: 2 },
      },
    ),
  "qwen3 with 151,936 tokens": () => {
    writeLargeTokenizer(at("large-qwen"), likeQwen3);
    return makeVariedModel(at("large-qwen3"), { ...preset, layers: 2 }, at("large-qwen"));
  },
  "llama with 128,256 tokens": () => {
    writeLargeTokenizer(at("large-llama"), likeLlama3);
    const changes = { architecture: "LlamaForCausalLM", layers: 2 } as const;
    return makeVariedModel(at("large-llama3"), { ...preset, ...changes }, at("large-llama"));
  },
  [trained]: trainedModel,
};

/** The newest weights of a short run. */
async function trainedModel(): Promise<string> {
  const model = at("base");
  await initModel({ directory: model, preset: "nano", tokenizer: join(fixtures, "qwen3"), seed: 1 });
  const engine = openEngine({ threads: 1, precision: "float32" });
  const recipe = tinyRecipe({
    policies: { shared: { model: { path: model } } },
    warmStart: { steps: 200, demonstrationsPerStep: 8, learningRate: 0.003 },
    train: { steps: 2, tasksPerStep: 2, learningRate: 0.001 },
  });
  const { status } = await train({ ...recipe, directory: at("runs", "trained"), engine });
  expect(status).toBe("finished");
  await engine.close();
  return "trained";
}

const pieces = [
  Array.from("etaoin shrdlu.,'\"<>|{}[]()=+-*/\\_#\t\n\r0123456789"),
  Array.from("éüßñøÅĐжЯщあ漢字한ﬁ½²①٣७🙂\u200b\u00a0\u2003"),
  ["👍🏽", "👩‍👩‍👧", "🇫🇷", "  ", "\n\n", " \n", "'s", "'LL", "don't", "hello", " world", "12345", "left right"],
  ["def f(x):\n    return x", "<tool_call>", "हिन्दी", "العربية"],
].flat();

/** Composed characters only: llama.cpp does not normalise, and Qwen's tokenizer composes (NFC). */
const texts = [
  "",
  "left right",
  "Hello, world! I'm sure they'll say it's what we've done. HELLO'S WE'RE I'LL",
  "12345 and 6 + 78 = 84, 3.14159, 2024-11-21",
  "  two   three\tand\n\nnew\r\nlines  \n  indented\n",
  "a\r\n\r\nb   ",
  "café naïve Ångström Москва 東京 한국어 العربية हिन्दी",
  `${"x".repeat(60)} ____ ---- **** ////`,
  "<think>hm</think><tool_call>{}",
  "<|im_start|>user\nhi<|im_end|>\n",
  "<|eot_id|><|begin_of_text|> a",
  ...Array.from({ length: 300 }, (_, index) => {
    const generator = generatorOf(keyAt(rootKey(3), index));
    const draw = (): string => pieces[drawInt(generator, pieces.length)] ?? "";
    return Array.from({ length: 1 + drawInt(generator, 30) }, draw)
      .join("")
      .normalize("NFC");
  }),
];

type Chat = readonly Message[];

/** Without control tokens: in llama.cpp those of a message are markup, here they are text. */
const chats: readonly Chat[] = Array.from({ length: 50 }, (_, index) => [
  { role: "system", content: "You are at the start." },
  {
    role: "user" as const,
    content: `${texts[11 + index]?.replaceAll("<tool_call>", "")} where is ${index}?`,
  },
]);

/** Positions of the game that was trained. */
const positions: readonly Chat[] = Array.from({ length: 50 }, (_, index) => {
  const { oracle } = tinyRecipe().environment;
  const [first] = oracle?.demonstrations?.(keyAt(rootKey(5), index), ["scout", "planner"]) ?? [];
  return [{ role: "user", content: first?.observation ?? "" }];
});

interface Answers {
  readonly tokens: readonly (readonly number[])[];
  readonly addsFirst: boolean;
  readonly ends: readonly number[];
  readonly template: string;
  readonly continuations: readonly {
    readonly tokens: readonly number[];
    readonly at: number | null;
    readonly gap: number;
  }[];
  readonly logits: readonly number[];
}

async function answersOf(request: object): Promise<Answers> {
  const running = promisify(execFile)(python ?? "", [script], { maxBuffer: 2 ** 28 });
  running.child.stdin?.end(JSON.stringify(request));
  return JSON.parse((await running).stdout) as Answers;
}

const length = 24;
/** Ids of which the first prompt's log-probabilities are compared. */
const compared = 300;

/** Of the local engine, in float32. */
async function ownAnswers(
  model: string,
  prompts: readonly Int32Array[],
): Promise<{ continuations: number[][]; logprobs: number[] }> {
  const engine = openEngine({ threads: 1, precision: "float32" });
  await engine.createPolicy({ name: "p", model });
  const options = { policy: "p", count: 1, seed: 1, temperature: 0, maxTokens: length } as const;
  const sampled = await Promise.all(prompts.map((prompt) => engine.sample({ ...options, prompt })));
  const continuations = Array.from({ length: compared }, (_, id) => ({ tokens: Int32Array.of(id) }));
  const [prompt] = prompts as [Int32Array];
  const { logprobs } = await engine.forward([{ policy: "p", prompt, continuations }]);
  await engine.close();
  return {
    continuations: sampled.map(([sequence]) => [...(sequence?.tokens ?? [])]),
    logprobs: logprobs.map(([value]) => value as number),
  };
}

function logprobsOf(logits: readonly number[]): number[] {
  const most = logits.reduce((largest, logit) => Math.max(largest, logit));
  const total = most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
  return logits.slice(0, compared).map((logit) => logit - total);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** The largest difference of a log-probability; how many continuations are equal in full; gaps where others diverge. */
interface Comparison {
  readonly difference: number;
  readonly equal: number;
  readonly gaps: readonly number[];
}

/** Large vocabularies take minutes on a busy machine. */
const timeout = 600_000;

describe.skipIf(python === undefined).each(Object.keys(models))("%s", { timeout }, (name) => {
  let source = "";
  let model = "";
  let own: Awaited<ReturnType<typeof ownAnswers>>;
  let prompts: readonly Int32Array[] = [];
  let rendered: readonly string[] = [];

  const exported = async (to: string, dtype: string, out: string): Promise<string> => {
    const args = ["export", source, "--to", to, "--dtype", dtype, "--out", out, "--runs", at("runs")];
    expect(await runCommand(args, { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
    return out;
  };

  beforeAll(async () => {
    source = (await models[name]?.()) ?? "";
    model = await exported("merged", "float32", at(`${name} merged`));
    const tokenizer = loadTokenizer(model);
    const asked = name === trained ? positions : chats;
    prompts = asked.map((chat) => tokenizer.renderPrompt(chat, true));
    rendered = asked.map((chat) => tokenizer.render(chat, true));
    own = await ownAnswers(model, prompts);
  }, timeout);

  const compare = async (
    dtype: string,
    exact: boolean,
  ): Promise<{ answers: Answers; comparison: Comparison }> => {
    const file = await exported("gguf", dtype, at(`${name} ${dtype}.gguf`));
    const request = {
      file,
      texts: [...texts, ...rendered],
      exact,
      context: 512,
      prompts: prompts.map((ids) => [...ids]),
      expected: own.continuations,
    };
    const answers = await answersOf(request);
    const theirs = logprobsOf(answers.logits);
    const comparison = {
      difference: Math.max(...theirs.map((value, id) => Math.abs(value - (own.logprobs[id] ?? Number.NaN)))),
      equal: answers.continuations.filter((each) => each.at === null).length,
      gaps: answers.continuations.flatMap((each) => (each.at === null ? [] : [each.gap])),
    };
    // The numbers of docs/using-models.md.
    const { difference, equal, gaps } = comparison;
    const diverging =
      gaps.length === 0 ? "" : `, else gaps ${median(gaps).toFixed(4)} to ${Math.max(...gaps).toFixed(4)}`;
    const different = new Set(own.continuations.map(String)).size;
    console.log(
      `${name} (${different} different), ${dtype}: ${difference.toExponential(1)}, ${equal} of ${prompts.length} equal${diverging}`,
    );
    return { answers, comparison };
  };

  test("in float32: the tokens, the template, and the continuations", async () => {
    const { answers, comparison } = await compare("float32", true);
    const tokenizer = loadTokenizer(model);
    const encoded = texts.map((text) => tokenizer.encode(text));
    expect(answers.tokens).toEqual([...encoded, ...prompts].map((ids) => [...ids]));
    // Only this one has a tokenizer that puts a token before each text.
    expect(answers.addsFirst).toBe(name.startsWith("mistral"));
    expect(answers.ends).toEqual(expect.arrayContaining([...tokenizer.endTokens]));
    expect(answers.template).toBe(templateSources(model, loadCoder(model).config).usual);
    // Else equal continuations would say little.
    expect(new Set(own.continuations.map(String)).size).toBeGreaterThan(5);
    // Sums in another order, over up to 4 layers.
    expect(comparison.difference).toBeLessThan(2e-3);
    for (const gap of comparison.gaps) expect(gap).toBeLessThan(2e-3);
  });

  test("in bfloat16 and in 8 bits: continuations differ only where tokens are about equally likely", async () => {
    const { comparison: half } = await compare("bfloat16", false);
    const { comparison: eight } = await compare("q8_0", false);
    // In logits, whose standard deviation is 0.12·√128 = 1.4 with these random weights.
    for (const [{ gaps, difference }, tolerance] of [
      [half, 0.3],
      [eight, 1],
    ] as const) {
      expect(difference).toBeLessThan(tolerance);
      for (const gap of gaps) expect(gap).toBeLessThan(tolerance);
    }
  });
});

test.skipIf(python === undefined)("8 bits are those of llama.cpp's own quantisation", async () => {
  const changes = { architecture: "LlamaForCausalLM", tiedEmbeddings: false } as const;
  const source = await makeVariedModel(at("quantised"), { ...preset, ...changes }, join(fixtures, "llama3"));
  for (const dtype of ["float32", "q8_0"]) {
    const args = ["export", source, "--to", "gguf", "--dtype", dtype, "--out", at(`quantised-${dtype}.gguf`)];
    expect(await runCommand(args, { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  }
  const code = `
import llama_cpp, sys
options = llama_cpp.llama_model_quantize_default_params()
options.ftype, options.nthread = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, 1
sys.exit(llama_cpp.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), options))`;
  const [from, to] = [at("quantised-float32.gguf"), at("theirs.gguf")];
  await promisify(execFile)(python ?? "", ["-c", code, from, to]);
  const [ours, theirs] = [await bytesOf(at("quantised-q8_0.gguf")), await bytesOf(to)];
  expect([...ours.keys()].toSorted()).toEqual([...theirs.keys()].toSorted());
  const different = [...theirs].filter(([name, bytes]) => ours.get(name)?.equals(bytes) !== true);
  expect(different.map(([name]) => name)).toEqual([]);
});

/** The data of each tensor, without what fills it up. */
async function bytesOf(file: string): Promise<ReadonlyMap<string, Buffer>> {
  const { tensorInfos, tensorDataOffset } = await gguf(file, { allowLocalFile: true });
  const bytes = readFileSync(file);
  return new Map(
    tensorInfos.map(({ name, dtype, shape, offset }) => {
      const begin = Number(tensorDataOffset + offset);
      const count = Number(shape.reduce((product, size) => product * size, 1n));
      const size = dtype === GGMLQuantizationType.F32 ? 4 * count : (count / 32) * 34;
      return [name, bytes.subarray(begin, begin + size)];
    }),
  );
}
