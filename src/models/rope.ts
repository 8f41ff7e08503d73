/** Rotary position embeddings: the frequencies, and how config.json scales them for longer contexts. */
import { isObject, type JsonObject } from "../text/files.ts";
import { ConfigReader } from "./config-reader.ts";

export interface Rope {
  readonly theta: number;
  readonly scaling: "none" | "linear" | "llama3" | "longrope";
  /** By which positions are divided; of llama3, those of long wavelengths. 1 without such a scaling. */
  readonly factor: number;
  /** [dimensions that turn / 2], in radians per position, before and after scaling. */
  readonly plain: Float32Array;
  readonly frequencies: Float32Array;
  /** By which cosine and sine are multiplied. */
  readonly attentionFactor: number;
  /** Up to this length sequences have these frequencies. */
  readonly longest: number;
}

/** What architectures differ in. */
export interface RopeRules {
  /** transformers' `rope_theta` if config.json has none. */
  readonly theta: number;
  readonly scalings: readonly Rope["scaling"][];
  /** Whether only a part of a head's dimensions may turn. */
  readonly partial: boolean;
}

export const usualRope: RopeRules = { theta: 10_000, scalings: ["none", "linear", "llama3"], partial: false };

/** Rope settings that some type of scaling has. Others, such as those of `yarn`, are not known here. */
const settings = [
  "type",
  "rope_type",
  "rope_theta",
  "partial_rotary_factor",
  "factor",
  "attention_factor",
  "original_max_position_embeddings",
  "low_freq_factor",
  "high_freq_factor",
  "short_factor",
  "long_factor",
];

/**
 * Frequencies are rounded to float32 where transformers rounds (`modeling_rope_utils.py`). Reads `rope_theta` with
 * `rope_scaling`, or transformers 5's `rope_parameters`.
 */
export function readRope(config: ConfigReader, headSize: number, rules = usualRope): Rope {
  const both = ["rope_scaling", "rope_parameters"].filter((name) => config.value(name) !== undefined);
  if (both.length === 2) config.reject("rope_scaling", "nothing, because there are rope_parameters");
  const name = both[0] ?? "rope_parameters";
  const values = config.value(name) ?? {};
  if (!isObject(values)) return config.reject(name, "an object");
  return ropeOf(config, new ConfigReader(`${config.file}: ${name}`, values), headSize, rules);
}

/** @param values the rope's own settings @param config of the model, which has some of them too */
export function ropeOf(config: ConfigReader, values: ConfigReader, headSize: number, rules: RopeRules): Rope {
  const given = values.value("rope_theta") === undefined ? config : values;
  const theta = given.positive("rope_theta", rules.theta);
  const turned = turnedOf(config, values, headSize, rules);
  const powers = Float32Array.from({ length: turned / 2 }, (_, i) => theta ** Math.fround((2 * i) / turned));
  const plain = powers.map((power) => 1 / power);
  const common = { theta, plain, attentionFactor: 1, longest: Infinity };
  const rope = { ...common, ...scaled(config, values, rules, powers, plain) };
  values.knowsOnly(settings);
  return rope;
}

/** How many of a head's dimensions turn: the first ones. */
function turnedOf(
  config: ConfigReader,
  values: ConfigReader,
  headSize: number,
  { partial }: RopeRules,
): number {
  const name = "partial_rotary_factor";
  if (!partial) for (const reader of [config, values]) reader.only(name, 1);
  const given = values.value(name) === undefined ? config : values;
  const turned = Math.trunc(headSize * given.positive(name, 1));
  if (turned < 2 || turned > headSize || turned % 2 !== 0)
    given.reject(name, `a share of ${headSize} dimensions that is an even number of them`);
  return turned;
}

type Scaled = Pick<Rope, "scaling" | "factor" | "frequencies"> & Partial<Rope>;

function scaled(
  config: ConfigReader,
  values: ConfigReader,
  { scalings }: RopeRules,
  powers: Float32Array,
  plain: Float32Array,
): Scaled {
  const name = values.value("rope_type") === undefined ? "type" : "rope_type";
  const type = values.value(name) ?? "default";
  const scaling = type === "default" ? "none" : type === "su" ? "longrope" : type;
  const known = scalings.find((each) => each === scaling);
  switch (known) {
    case "none":
      return { scaling: known, factor: 1, frequencies: plain };
    case "linear": {
      const factor = values.positive("factor");
      return { scaling: known, factor, frequencies: plain.map((frequency) => frequency / factor) };
    }
    case "llama3": {
      const factor = values.positive("factor");
      return { scaling: known, factor, frequencies: plain.map(llama3(config, values)) };
    }
    case "longrope":
      return { scaling: known, factor: 1, ...longRope(config, values, powers) };
    default:
      return values.reject(
        name,
        `one of "default", ${scalings
          .slice(1)
          .map((each) => JSON.stringify(each))
          .join(", ")}`,
      );
  }
}

/**
 * Long wavelengths are divided by `factor`, short ones unchanged, those in between blended
 * (`_compute_llama3_parameters`).
 */
function llama3(config: ConfigReader, values: ConfigReader): (frequency: number) => number {
  const factor = values.positive("factor");
  const low = values.positive("low_freq_factor");
  const high = values.positive("high_freq_factor");
  const context = values.count("original_max_position_embeddings");
  // transformers prefers this one.
  config.only("original_max_position_embeddings", context);
  if (high <= low) values.reject("high_freq_factor", `more than low_freq_factor (${low})`);
  return (frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    if (wavelength > context / low) return frequency / factor;
    if (wavelength < context / high) return frequency;
    const smooth = (context / wavelength - low) / (high - low);
    return ((1 - smooth) * frequency) / factor + smooth * frequency;
  };
}

/**
 * Phi-3's (`_compute_longrope_parameters`): each frequency has a divisor, another one in sequences longer than the
 * original context. Only the first is supported: what is longer turns its earlier tokens differently too, so tokens
 * would have other log-probabilities in training than when they were sampled.
 */
function longRope(
  config: ConfigReader,
  values: ConfigReader,
  powers: Float32Array,
): Pick<Rope, "frequencies" | "attentionFactor" | "longest"> {
  const longest = config.count("original_max_position_embeddings", 4096);
  values.only("original_max_position_embeddings", longest);
  const divisors = values.value("short_factor");
  if (!Array.isArray(divisors) || divisors.length !== powers.length || !divisors.every(isPositive))
    return values.reject("short_factor", `${powers.length} positive numbers`);
  const frequencies = powers.map((power, i) => 1 / Math.fround(Math.fround(divisors[i] as number) * power));
  const stretch = values.positive("factor", config.count("max_position_embeddings") / longest);
  const usual = stretch <= 1 ? 1 : Math.sqrt(1 + Math.log(stretch) / Math.log(longest));
  return { frequencies, attentionFactor: values.positive("attention_factor", usual), longest };
}

function isPositive(value: unknown): boolean {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}

/** The settings of each type of layer, as Gemma 3 has them. */
export function ropesByType(
  config: ConfigReader,
  headSize: number,
  rules: { readonly full: RopeRules; readonly sliding: RopeRules },
): { readonly full: Rope; readonly sliding: Rope } {
  const nested = config.value("rope_parameters");
  if (nested === undefined) {
    const scaling = config.value("rope_scaling") ?? {};
    if (!isObject(scaling)) return config.reject("rope_scaling", "an object");
    const local = { rope_theta: config.positive("rope_local_base_freq", rules.sliding.theta) };
    const of = (values: JsonObject, which: RopeRules) =>
      ropeOf(config, new ConfigReader(`${config.file}: rope_scaling`, values), headSize, which);
    return { full: of(scaling, rules.full), sliding: of(local, rules.sliding) };
  }
  if (!isObject(nested)) return config.reject("rope_parameters", "an object");
  if (config.value("rope_scaling") !== undefined)
    return config.reject("rope_scaling", "nothing, because there are rope_parameters");
  const types = new ConfigReader(`${config.file}: rope_parameters`, nested);
  types.knowsOnly(["full_attention", "sliding_attention"]);
  const of = (name: string, theta: number, which: RopeRules) => {
    const values = types.value(name) ?? {};
    if (!isObject(values)) return types.reject(name, "an object");
    const own = { rope_theta: theta, ...values };
    return ropeOf(config, new ConfigReader(`${config.file}: rope_parameters.${name}`, own), headSize, which);
  };
  return {
    full: of("full_attention", config.positive("rope_theta", rules.full.theta), rules.full),
    sliding: of(
      "sliding_attention",
      config.positive("rope_local_base_freq", rules.sliding.theta),
      rules.sliding,
    ),
  };
}
