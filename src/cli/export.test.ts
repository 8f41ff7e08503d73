/** Policies of real runs are exported and loaded again; their log-probabilities are those of the run's own weights. */
import fs from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../engines/engine.ts";
import { openEngine } from "../engines/open.ts";
import { initModel } from "../models/init.ts";
import { isPresentSync } from "../present.ts";
import { temporaryFolder, tensorsOf } from "../models/test-model.ts";
import { readTextFiles } from "../models/model-directory.ts";
import type { RecipeInput } from "../recipes/schema.ts";
import { digestOfText } from "../runs/digests.ts";
import { writeByteTokenizer } from "../text/byte-tokenizer.ts";
import { train } from "../train/run.ts";
import { tinyRecipe } from "../train/testing/tiny-recipe.ts";
import { openSavedRun, weightsOfPolicy, weightsOfDirectory, type Weights } from "../train/weights.ts";
import { runCommand, type Outcome } from "./testing/command.ts";

const folder = temporaryFolder();
const at = (...parts: string[]): string => path.join(folder, ...parts);
const troupe = (...args: string[]): Promise<Outcome> => runCommand(args, { cwd: folder });

function closing(): AsyncDisposable & { value: Engine } {
  const value = openEngine({ threads: 1, precision: "float32" });
  return { value, [Symbol.asyncDispose]: () => value.close() };
}

/** One run with a whole model and an adapter, long enough for the adapter to matter. */
const changes: Partial<RecipeInput> = {
  policies: {
    eyes: { model: { preset: "nano" }, templateVariables: { enable_thinking: false } },
    legs: { model: { preset: "nano" }, adapter: { rank: 3, alpha: 12 } },
  },
  team: {
    roles: {
      scout: { policy: "eyes", prompt: "", maxTokens: 8 },
      planner: { policy: "legs", prompt: "", maxTokens: 8 },
    },
    phases: [["scout"], ["planner"]],
    turns: 2,
  },
  warmStart: { steps: 12, demonstrationsPerStep: 8, learningRate: 0.01 },
  train: { steps: 1, tasksPerStep: 2, learningRate: 0.001 },
  evaluation: { tasks: 2 },
};

beforeAll(async () => {
  await using engine = closing();
  const outcome = await train({ ...tinyRecipe(changes), directory: at("runs", "one"), engine: engine.value });
  if (outcome.status !== "finished") throw new Error(outcome.status);
});

/** Of 24 tokens in a row, after a prompt. */
async function logprobsOf({ model, from }: Weights): Promise<Float32Array> {
  await using engine = closing();
  await engine.value.createPolicy({ name: "p", model, ...(from === null ? {} : { from }) });
  const tokens = Int32Array.from({ length: 24 }, (_, index) => 6 + ((index * 5) % 28));
  const prompt = Int32Array.from([4, 8, 9, 2, 5]);
  const { logprobs } = await engine.value.forward([{ policy: "p", prompt, continuations: [{ tokens }] }]);
  return logprobs[0] as Float32Array;
}

const own = async (policy: string): Promise<Weights> =>
  weightsOfPolicy(await openSavedRun(at("runs", "one")), policy, at("scratch"));

async function exported(role: string, out: string, ...options: string[]): Promise<Weights> {
  const { stderr, code } = await troupe("export", "one", role, "--out", out, ...options);
  const variables = `one:eyes was trained with {"enable_thinking":false} for its chat template; pass them on`;
  expect({ stderr, code }).toEqual({
    stderr: role === "eyes" ? `${variables} (chat_template_kwargs)\n` : "",
    code: 0,
  });
  return weightsOfDirectory(at(out));
}

function farthest(left: Float32Array, right: Float32Array): number {
  return Math.max(...left.map((value, index) => Math.abs(value - (right[index] as number))));
}

describe.each(["eyes", "legs"])("%s, as a whole model", (policy) => {
  test("in float32 has the log-probabilities of the run", async () => {
    const weights = await exported(policy, `${policy}-float32`, "--to", "merged", "--dtype", "float32");
    // A whole model is copied; B·A is rounded once more when it is added to a weight: 2⁻²⁴ of it.
    const tolerance = policy === "eyes" ? 0 : 1e-5;
    const difference = farthest(await logprobsOf(weights), await logprobsOf(await own(policy)));
    expect(difference).toBeLessThanOrEqual(tolerance);
  });

  test("in bfloat16 has them within the rounding of its weights", async () => {
    const weights = await exported(policy, `${policy}-bfloat16`, "--to", "merged");
    const difference = farthest(await logprobsOf(weights), await logprobsOf(await own(policy)));
    expect(difference).toBeGreaterThan(0);
    expect(difference).toBeLessThan(0.03); // measured: 0.006 and 0.002
    const rounded = await tensorsOf(at(`${policy}-bfloat16`, "model.safetensors"));
    const exact = await tensorsOf(at(`${policy}-float32`, "model.safetensors"));
    const errorIn = ([name, values]: readonly [string, Float32Array]) =>
      Math.max(
        ...values.map((value, i) => Math.abs((rounded[name]?.[i] ?? NaN) - value) / Math.abs(value || 1)),
      );
    const errors = Object.entries(exact).map(errorIn);
    expect(Math.max(...errors)).toBeLessThanOrEqual(2 ** -8); // half of the last of 8 binary digits
    const config = JSON.parse(await fs.readFile(at(`${policy}-bfloat16`, "config.json"), "utf8")) as object;
    expect(config).toMatchObject({ torch_dtype: "bfloat16", architectures: ["Qwen3ForCausalLM"] });
  });

  test("has the tokenizer and its chat template", async () => {
    const files = await readTextFiles(at(`${policy}-bfloat16`));
    expect(files).toEqual(await readTextFiles((await own(policy)).text));
    expect(files.get("tokenizer_config.json")?.toString()).toContain("chat_template");
  });
});

test("an adapter matters, and alone has exactly the log-probabilities of the run", async () => {
  const weights = await exported("legs", "legs-adapter", "--to", "peft");
  const trained = await logprobsOf(weights);
  const untrained = await logprobsOf({ ...(await own("legs")), from: null });
  expect(trained).toEqual(await logprobsOf(await own("legs")));
  expect(farthest(trained, untrained)).toBeGreaterThan(0.1); // else its merging would not be tested
  const config = JSON.parse(await fs.readFile(at("legs-adapter", "adapter_config.json"), "utf8")) as object;
  const base = at("runs", "one", "models", "nano");
  expect(config).toMatchObject({ peft_type: "LORA", r: 3, lora_alpha: 12, base_model_name_or_path: base });
  // So that it is not accepted on another base.
  const saved = path.join("runs", "one", "checkpoints", "step-13", "legs");
  const [record, expected] = ["legs-adapter", saved].map((each) =>
    fs.readFile(at(each, "base_digests.json")),
  );
  expect(await record).toEqual(await expected);
});

test("says what was written and how to evaluate it, and the directory plays its role", async () => {
  const { stdout } = await troupe("export", "one", "planner", "--to", "merged");
  const base = path.join("runs", "one", "models", "nano");
  expect(stdout).toBe(
    `models/one-legs: one:legs after step 13, 109,120 parameters in bfloat16, its adapter merged into ${base}\n\n` +
      "next:\n  troupe eval one --policies planner=models/one-legs\n",
  );
  const evaluated = await troupe("eval", "one", "--policies", "planner=models/one-legs", "--tasks", "2");
  expect(evaluated).toMatchObject({ code: 0 });
  const origin = JSON.parse(await fs.readFile(at("models/one-legs/troupe-export.json"), "utf8")) as object;
  expect(origin).toEqual({ from: "one:legs", step: 13, to: "merged", dtype: "bfloat16" });
});

test("an adapter's directory is merged as well", async () => {
  const saved = at("runs", "one", "checkpoints", "step-13", "legs");
  const { code } = await troupe("export", saved, "--to", "merged", "--dtype", "float32", "--out", "again");
  expect(code).toBe(0);
  const [one, other] = ["again", "legs-float32"].map((name) => fs.readFile(at(name, "model.safetensors")));
  expect(await one).toEqual(await other);
});

test("an adapter that has diverged is not written", async () => {
  const step = path.join("runs", "one", "checkpoints", "step-13");
  const diverged = path.join(step, "diverged");
  await fs.cp(at(step, "legs"), at(diverged), { recursive: true });
  const file = at(diverged, "adapter_model.safetensors");
  const bytes = await fs.readFile(file);
  bytes.writeFloatLE(NaN, bytes.length - 4);
  await fs.writeFile(file, bytes);
  const { stderr } = await troupe("export", at(diverged), "--to", "peft", "--out", "nothing");
  expect(stderr).toContain("has a value that is not finite, so every reply would be nonsense");
  expect(isPresentSync(at("nothing"))).toBe(false);
});

test("weights that a server keeps are downloaded first", async () => {
  await fs.cp(at("runs", "one"), at("runs", "remote"), { recursive: true });
  const state = at("runs", "remote", "checkpoints", "step-13", "state.json");
  const { digest: _, ...saved } = JSON.parse(await fs.readFile(state, "utf8")) as {
    digest: string;
    policies: Record<string, { directory: string | null }>;
  };
  Object.assign(saved.policies["legs"] ?? {}, { directory: null });
  const digest = digestOfText(JSON.stringify(saved));
  await fs.writeFile(state, JSON.stringify({ ...saved, digest }));
  const { code, stderr } = await troupe("export", "remote", "planner", "--to", "peft");
  expect(code).toBe(2);
  const download = "troupe runs weights runs/remote --policy legs --out DIRECTORY";
  expect(stderr).toContain(`a server keeps remote:legs; first \`${download}\``);
});

test("a GGUF file; --force replaces only such a file", async () => {
  // Presets have a vocabulary of words, which llama.cpp does not have.
  const told = await troupe("export", "one", "planner", "--to", "gguf");
  expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining("WordLevel") });
  expect(told.stderr).toContain("export it with `--to merged`");
  writeByteTokenizer(at("byte-tokenizer"));
  await initModel({ directory: at("bytes"), preset: "nano", tokenizer: at("byte-tokenizer"), seed: 1 });
  expect(await troupe("export", "bytes", "--to", "gguf")).toEqual({
    code: 0,
    stderr: "",
    stdout:
      "models/bytes.gguf: bytes, 123,776 parameters in bfloat16\n\n" +
      "next, with llama.cpp:\n  llama-server -m models/bytes.gguf --jinja\n",
  });
  const eight = await troupe("export", "bytes", "--to", "gguf", "--dtype", "q8_0", "--json");
  const written = { file: "models/bytes-q8_0.gguf", from: "bytes", step: null, to: "gguf", dtype: "q8_0" };
  expect(JSON.parse(eight.stdout)).toEqual({ ...written, parameters: 123_776 });
  const again = ["export", "bytes", "--to", "gguf", "--out"];
  expect((await troupe(...again, "models/bytes.gguf")).stderr).toContain("models/bytes.gguf exists");
  const before = await fs.readFile(at("models/bytes.gguf"));
  expect((await troupe(...again, "models/bytes.gguf", "--force")).code).toBe(0);
  expect(await fs.readFile(at("models/bytes.gguf"))).toEqual(before);
  await fs.writeFile(at("other.gguf"), "GGUF of somebody else, which is long enough for any key");
  for (const other of ["other.gguf", "eyes-float32"])
    expect((await troupe(...again, other, "--force")).stderr).toContain("not an earlier export of this kind");
  expect((await fs.readdir(at("models"))).toSorted()).toEqual(["bytes-q8_0.gguf", "bytes.gguf", "one-legs"]);
});

async function rejected(...args: string[]): Promise<string> {
  const before = await fs.readdir(folder);
  const { code, stderr } = await troupe("export", ...args);
  expect(code).toBe(2);
  expect(await fs.readdir(folder)).toEqual(before);
  return stderr;
}

describe("is rejected, and leaves everything as it was:", () => {
  test("a folder that exists, unless it is an earlier export and --force is given", async () => {
    const words = ["one", "eyes", "--to", "merged", "--out"];
    expect(await rejected(...words, "eyes-float32")).toContain("eyes-float32 exists; give another --out");
    const forced = await troupe("export", ...words, "eyes-float32", "--force");
    expect(forced.code).toBe(0);
    const bytes = (name: string) => fs.readFile(at(name, "model.safetensors"));
    expect(await bytes("eyes-float32")).toEqual(await bytes("eyes-bfloat16"));
    const base = path.join("runs", "one", "models", "nano");
    expect(await rejected(...words, base, "--force")).toContain("is not an earlier export of this kind");
    expect(await fs.readdir(at(base))).toContain("model.safetensors");
  });

  test.each([
    ["one scout --to peft", "has no adapter to write; use `--to merged`"],
    ["one legs --to peft --dtype bfloat16", "bfloat16 is not for peft; it is written in float32"],
    ["one legs --to merged --dtype q8_0", "not for merged; it is written in bfloat16 or float32"],
    ["one --to merged", "name a role or one of them: eyes, legs"],
    ["one plannr --to merged", "planner"],
    ["eyes-bfloat16 scout --to merged", "is a model directory; omit scout"],
    ["one eyes --to onnx", "merged, peft, gguf"],
    ["one eyes", "--to <layout>"],
  ])("%s", async (line, message) => {
    expect(await rejected(...line.split(" "))).toContain(message);
  });
});
