/** A LoRA adapter in the PEFT layout: adapter_config.json and adapter_model.safetensors. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TroupeError } from "../../errors.ts";
import { isObject, readObject, type JsonObject } from "../../text/files.ts";
import type { AdapterOptions } from "../engine.ts";
import { writeSafetensors, type TensorToWrite } from "./safetensors-write.ts";
import { drawFloat, generatorOf, keyAt, rootKey } from "../../random.ts";
import { ConfigReader } from "./config-reader.ts";
import { sizeOf } from "./model-directory.ts";
import type { TensorInfo } from "./native.ts";

export const adapterMarker = "adapter_config.json";
export const adapterStem = "adapter_model";

/** Variants of LoRA whose arithmetic differs; each must be off. */
const otherArithmetic = ["use_dora", "use_rslora", "use_qalora", "use_bdlora", "lora_bias", "fan_in_fan_out"];
/** Settings that give some layers another rank or more weights; each must be empty. */
const otherShapes = [
  "rank_pattern",
  "alpha_pattern",
  "layers_to_transform",
  "layer_replication",
  "exclude_modules",
  "trainable_token_indices",
  "target_parameters",
];

/** The directory must hold an adapter of the same rank, alpha, targets and head: another one is `bad_model`. */
export function checkAdapterConfig(directory: string, expected: AdapterOptions, valueHead: boolean): void {
  const values = readObject(directory, adapterMarker);
  const config = new ConfigReader(join(directory, adapterMarker), values);
  if (config.value("peft_type") !== "LORA") config.refuse("peft_type", '"LORA"');
  for (const name of otherArithmetic) config.only(name, false);
  for (const name of otherShapes) if (!isEmpty(config.value(name))) config.refuse(name, "nothing");
  if (config.value("bias") !== undefined && config.value("bias") !== "none") config.refuse("bias", '"none"');
  if (config.count("r") !== expected.rank) config.refuse("r", `${expected.rank}, the policy's rank`);
  if (config.positive("lora_alpha") !== expected.alpha)
    config.refuse("lora_alpha", `${expected.alpha}, the policy's alpha`);
  checkTargets(config, expected.targetModules);
  checkHead(config, valueHead);
}

/** What is trained whole beside the matrices: a critic's head. PEFT lists `classifier` with it, which no model here has. */
function checkHead(config: ConfigReader, valueHead: boolean): void {
  const listed = config.value("modules_to_save") ?? [];
  const modules = Array.isArray(listed) ? listed.filter((name) => name !== "classifier") : [listed];
  const fits = valueHead ? modules.length === 1 && modules[0] === "score" : modules.length === 0;
  if (!fits) config.refuse("modules_to_save", valueHead ? '"score", a critic\'s head' : "nothing");
}

function checkTargets(config: ConfigReader, expected: readonly string[]): void {
  const targets = config.value("target_modules");
  const listed = Array.isArray(targets) ? sortedList(targets.map(String)) : "";
  const wanted = sortedList(expected);
  if (listed !== wanted) config.refuse("target_modules", `${wanted}, the policy's target modules`);
}

function sortedList(names: readonly string[]): string {
  return names.toSorted().join(", ");
}

function isEmpty(value: unknown): boolean {
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** Writes an adapter directory's files into an existing folder. */
export async function writeAdapterFiles(
  folder: string,
  model: string,
  options: AdapterOptions,
  valueHead: boolean,
  tensors: readonly TensorToWrite[],
): Promise<void> {
  const config: JsonObject = {
    peft_type: "LORA",
    task_type: valueHead ? "TOKEN_CLS" : "CAUSAL_LM",
    base_model_name_or_path: model,
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
  await writeSafetensors(join(folder, `${adapterStem}.safetensors`), tensors, { metadata: { format: "pt" } });
}

/**
 * A fresh adapter: B and a critic's head are zero, A uniform within ±1/√(inputs), as PEFT does (Kaiming uniform with a = √5). Every matrix
 * has its own key, so its values do not depend on which other modules are targets.
 */
export function initialAdapterTensor(tensor: TensorInfo, seed: number): Float32Array {
  const values = new Float32Array(sizeOf(tensor));
  if (!tensor.name.includes(".lora_A.")) return values;
  const generator = generatorOf(keyAt(rootKey(seed), "adapter", tensor.name));
  const bound = 1 / Math.sqrt(tensor.shape[1] ?? 1);
  return values.map(() => (2 * drawFloat(generator) - 1) * bound);
}

/** Ranges that the engine would refuse later, in the words of the recipe. */
export function checkAdapterOptions(options: AdapterOptions): void {
  const { rank, alpha, seed } = options;
  if (!Number.isSafeInteger(rank) || rank < 1)
    throw refuse(`rank ${rank} must be a whole number of at least 1`);
  if (!(alpha > 0) || !Number.isFinite(alpha)) throw refuse(`alpha ${alpha} must be a positive number`);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw refuse(`seed ${seed} must be a whole number of at least 0`);
}

function refuse(what: string): TroupeError {
  return new TroupeError("bad_arguments", `The adapter's ${what}.`);
}
