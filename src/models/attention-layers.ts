/** What attention does in each layer: how many positions it sees, and how positions turn queries and keys. */
import type { ConfigReader } from "./config-reader.ts";
import { readRope, ropesByType, usualRope, type Rope, type RopeRules } from "./rope.ts";

export interface AttentionLayers {
  /** How many positions a token sees, its own included; 0: all. [layers] */
  readonly windows: Int32Array;
  /** The index of the layer's rope; -1: positions turn nothing. [layers] */
  readonly layerRopes: Int32Array;
  readonly ropes: readonly Rope[];
}

/** What architectures differ in. */
export interface AttentionRules {
  /** Which layers have a window if the model has one and config.json has no `layer_types`. */
  readonly slides: "none" | "all" | "from max_window_layers" | "without rope" | "all but every sixth";
  /** Whether `layer_types` may say otherwise. */
  readonly isListed: boolean;
  /** Whether a window needs `use_sliding_window`. */
  readonly isSwitched: boolean;
  /** transformers' `sliding_window` if config.json has none; absent: none. */
  readonly window?: number;
  readonly rope: RopeRules;
  /** Of layers with a window; absent: the same. */
  readonly slidingRope?: RopeRules;
  /** Whether `no_rope_layers` are without. */
  readonly skipsRope: boolean;
}

export const usualAttention: AttentionRules = {
  slides: "none",
  isListed: false,
  isSwitched: false,
  rope: usualRope,
  skipsRope: false,
};

/** @throws TroupeError `bad_model` for what transformers computes otherwise or rejects */
export function readAttentionLayers(
  config: ConfigReader,
  layers: number,
  headSize: number,
  rules: AttentionRules,
): AttentionLayers {
  const hasRope = rules.skipsRope ? ropeLayers(config, layers) : Array.from({ length: layers }, () => true);
  const window = readWindow(config, rules);
  // With a rotation of their own, layers slide whether or not there is a window.
  const maySlide = window > 0 || rules.slidingRope !== undefined;
  const usual = (turns: boolean, layer: number) => maySlide && hasWindow(config, rules, layer, turns);
  const sliding = listedTypes(config, layers) ?? hasRope.map(usual);
  if (!rules.isListed && !sliding.every((each, layer) => each === usual(true, layer)))
    config.reject("layer_types", "nothing, because this architecture has the same attention in every layer");
  if (window === 0 && sliding.includes(true))
    config.reject(
      rules.isSwitched ? "use_sliding_window" : "sliding_window",
      `a window, as some layers have sliding_attention, by layer_types or by default`,
    );
  const windows = Int32Array.from(sliding, (isWindowed) => (isWindowed ? window : 0));
  if (rules.slidingRope !== undefined) {
    const { full, sliding: local } = ropesByType(config, headSize, {
      full: rules.rope,
      sliding: rules.slidingRope,
    });
    return { windows, layerRopes: Int32Array.from(sliding, Number), ropes: [full, local] };
  }
  const layerRopes = Int32Array.from(hasRope, (turns) => (turns ? 0 : -1));
  return { windows, layerRopes, ropes: [readRope(config, headSize, rules.rope)] };
}

/** 0: none. */
function readWindow(config: ConfigReader, { slides, isSwitched, window }: AttentionRules): number {
  const name = "sliding_window";
  if (slides === "none") {
    if (config.value(name) !== undefined)
      config.reject(name, "nothing, because this architecture has no window");
    return 0;
  }
  if (isSwitched && !config.flag("use_sliding_window")) return 0;
  if (config.isNull(name) || (config.value(name) === undefined && window === undefined)) return 0;
  return config.count(name, window, 2 ** 31 - 1);
}

function hasWindow(config: ConfigReader, rules: AttentionRules, layer: number, hasRope: boolean): boolean {
  switch (rules.slides) {
    case "none":
      return false;
    case "all":
      return true;
    case "from max_window_layers":
      return layer >= config.count("max_window_layers", 28, undefined, 0);
    case "without rope":
      return !hasRope;
    default: {
      // all but every sixth
      const pattern = config.count("sliding_window_pattern", 6);
      // transformers writes this name, with layer_types, and does not read it.
      config.only("_sliding_window_pattern", pattern);
      return (layer + 1) % pattern !== 0;
    }
  }
}

/** Whether each layer has a window by `layer_types`; null: config.json has none. */
function listedTypes(config: ConfigReader, layers: number): readonly boolean[] | null {
  const name = "layer_types";
  const listed = config.value(name);
  if (listed === undefined) return null;
  const known: readonly unknown[] = ["full_attention", "sliding_attention"];
  if (!Array.isArray(listed) || listed.length !== layers || !listed.every((type) => known.includes(type)))
    return config.reject(name, `"full_attention" or "sliding_attention" for each of the ${layers} layers`);
  return listed.map((type) => type === "sliding_attention");
}

/** SmolLM3: `no_rope_layers` has 1 for a layer with rope and 0 for one without; usually each fourth is without. */
function ropeLayers(config: ConfigReader, layers: number): readonly boolean[] {
  const name = "no_rope_layers";
  const listed = config.value(name);
  if (listed === undefined) {
    const interval = config.count("no_rope_layer_interval", 4);
    return Array.from({ length: layers }, (_, layer) => (layer + 1) % interval !== 0);
  }
  if (!Array.isArray(listed) || listed.length < layers || !listed.every((each) => each === 0 || each === 1))
    return config.reject(name, `0 or 1 for each of the ${layers} layers`);
  return listed.slice(0, layers).map((each) => each === 1);
}
