/** A LoRA adapter in the PEFT layout: adapter_config.json and adapter_model.safetensors. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TroupeError } from "../errors.ts";
import { drawFloat, generatorOf, keyAt, rootKey } from "../random.ts";
import { isObject, readObject, type JsonObject } from "../text/files.ts";
import { adapterMarker } from "./adapter-base.ts";
import { fusedProjections, partsOf, projections, type AdapterOptions } from "./adapter-options.ts";
import { ConfigReader } from "./config-reader.ts";
import { sizeOf } from "./model-directory.ts";
import { writeSafetensors, type TensorToWrite } from "./safetensors-write.ts";
import type { TensorInfo } from "./safetensors.ts";
import { checkWeights, openWeights, type Weights } from "./weights.ts";

const adapterStem = "adapter_model";

/** Variants of LoRA with different arithmetic; each must be off. */
const otherArithmetic = ["use_dora", "use_rslora", "use_qalora", "use_bdlora", "lora_bias", "fan_in_fan_out"];
/** Settings that give some layers another rank or additional weights; each must be empty. */
const otherShapes = [
  "rank_pattern",
  "alpha_pattern",
  "layers_to_transform",
  "layer_replication",
  "exclude_modules",
  "trainable_token_indices",
  "target_parameters",
];

/** The settings of the adapter in a directory. @throws TroupeError `bad_model` for other variants of LoRA */
export function readAdapterOptions(directory: string): AdapterOptions {
  const config = openAdapterConfig(directory);
  const targets = config.value("target_modules");
  const listed: readonly unknown[] = Array.isArray(targets) ? targets : [];
  const all: readonly unknown[] = [...projections, ...fusedProjections];
  const known = listed.every((name) => all.includes(name));
  if (listed.length === 0 || !known || new Set(listed).size < listed.length)
    config.reject("target_modules", `a list of some of ${all.join(", ")}, each once`);
  return {
    rank: config.count("r"),
    alpha: config.positive("lora_alpha"),
    targetModules: listed.map(String),
    seed: 0,
  };
}

/**
 * Checks that the directory holds an adapter of the same rank, alpha and targets. @throws TroupeError `bad_model`
 * @param valueHead whether it must have a critic's head; absent: it may
 * @returns whether it has one
 */
export function checkAdapterConfig(
  directory: string,
  expected: Omit<AdapterOptions, "seed">,
  valueHead?: boolean,
): boolean {
  const config = openAdapterConfig(directory);
  if (config.count("r") !== expected.rank) config.reject("r", `${expected.rank}, the policy's rank`);
  if (config.positive("lora_alpha") !== expected.alpha)
    config.reject("lora_alpha", `${expected.alpha}, the policy's alpha`);
  checkTargets(config, expected.targetModules);
  return checkHead(config, valueHead);
}

function openAdapterConfig(directory: string): ConfigReader {
  const values = readObject(directory, adapterMarker);
  const config = new ConfigReader(join(directory, adapterMarker), values);
  if (config.value("peft_type") !== "LORA") config.reject("peft_type", '"LORA"');
  for (const name of otherArithmetic) config.only(name, false);
  for (const name of otherShapes) if (!isEmpty(config.value(name))) config.reject(name, "nothing");
  if (config.value("bias") !== undefined && config.value("bias") !== "none") config.reject("bias", '"none"');
  return config;
}

/**
 * Modules trained whole besides the matrices: a critic's head. PEFT also lists `classifier`, which no model here has.
 */
function checkHead(config: ConfigReader, wanted: boolean | undefined): boolean {
  const listed = config.value("modules_to_save") ?? [];
  const modules: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
  const others = modules.filter((name) => name !== "classifier" && name !== "score");
  const found = modules.includes("score");
  if (others.length === 0 && found === (wanted ?? found)) return found;
  return config.reject("modules_to_save", (wanted ?? found) ? '"score", a critic\'s head' : "nothing");
}

function checkTargets(config: ConfigReader, expected: readonly string[]): void {
  const targets = config.value("target_modules");
  const listed = Array.isArray(targets) ? partsOf(targets.map(String)).join(", ") : "";
  const wanted = partsOf(expected).join(", ");
  if (listed !== wanted) config.reject("target_modules", `${wanted}, the policy's target modules`);
}

function isEmpty(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/**
 * Opens the adapter's weights and checks them against the expected tensors.
 * @param head whether they must include a critic's head
 */
export async function openAdapterWeights(
  directory: string,
  base: string,
  tensors: readonly TensorInfo[],
  head: boolean,
): Promise<Weights> {
  const weights = await openWeights(directory, adapterStem);
  try {
    checkWeights(directory, weights, head ? tensors : tensors.filter((each) => !isHead(each)), () => false);
  } catch (cause) {
    if (!(cause instanceof TroupeError)) throw cause;
    const question = `Its base is ${base}; was it trained on this model?`;
    throw new TroupeError(cause.code, `${cause.message} ${question}`, { cause });
  }
  return weights;
}

function isHead({ name }: TensorInfo): boolean {
  return name.startsWith("base_model.model.score.");
}

/** Writes an adapter directory's files into an existing folder. @param base its name for the model below */
export async function writeAdapterFiles(
  folder: string,
  base: string,
  options: AdapterOptions,
  valueHead: boolean,
  tensors: readonly TensorToWrite[],
): Promise<void> {
  await writeAdapterConfig(folder, base, options, valueHead);
  await writeSafetensors(join(folder, `${adapterStem}.safetensors`), tensors, { metadata: { format: "pt" } });
}

/** Everything but the weights. @param base its name for the model below */
export async function writeAdapterConfig(
  folder: string,
  base: string,
  options: AdapterOptions,
  valueHead: boolean,
): Promise<void> {
  const config: JsonObject = {
    peft_type: "LORA",
    task_type: valueHead ? "TOKEN_CLS" : "CAUSAL_LM",
    base_model_name_or_path: base,
    r: options.rank,
    lora_alpha: options.alpha,
    lora_dropout: 0,
    target_modules: options.targetModules.toSorted(),
    bias: "none",
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    modules_to_save: valueHead ? ["score"] : null,
    use_dora: false,
    use_rslora: false,
  };
  await writeFile(join(folder, adapterMarker), `${JSON.stringify(config, null, 2)}\n`);
}

/**
 * A fresh adapter: B and a critic's head are zero, A is uniform within ±1/√(inputs), as in PEFT (Kaiming uniform with a
 * = √5). Every matrix has its own key, so its values do not depend on the other target modules.
 */
export function initialAdapterTensor(tensor: TensorInfo, seed: number): Float32Array {
  const values = new Float32Array(sizeOf(tensor));
  if (!tensor.name.includes(".lora_A.")) return values;
  const generator = generatorOf(keyAt(rootKey(seed), "adapter", tensor.name));
  const bound = 1 / Math.sqrt(tensor.shape[1] ?? 1);
  return values.map(() => (2 * drawFloat(generator) - 1) * bound);
}
