/** Rotary position embeddings: the frequencies, and how config.json scales them for longer contexts. */
import { isObject, type JsonObject } from "../text/files.ts";
import { ConfigReader } from "./config-reader.ts";

export interface Rope {
  readonly theta: number;
  readonly scaling: "none" | "linear" | "llama3";
  /** By which positions are divided; of llama3, those of long wavelengths. 1 without scaling. */
  readonly factor: number;
  /** [headSize / 2], in radians per position, before and after scaling. */
  readonly plain: Float32Array;
  readonly frequencies: Float32Array;
}

/**
 * Frequencies are rounded to float32 where transformers rounds (`modeling_rope_utils.py`). Reads `rope_theta` with
 * `rope_scaling`, or transformers 5's `rope_parameters`.
 */
export function readRope(config: ConfigReader, headSize: number): Rope {
  const name = config.value("rope_parameters") === undefined ? "rope_scaling" : "rope_parameters";
  const values = config.value(name) ?? {};
  if (!isObject(values)) return config.reject(name, "an object");
  const rope = new ConfigReader(`${config.file}: ${name}`, values);
  rope.only("partial_rotary_factor", 1);
  const theta =
    rope.value("rope_theta") === undefined
      ? config.positive("rope_theta", 10_000)
      : rope.positive("rope_theta");
  const plain = Float32Array.from(
    { length: headSize / 2 },
    (_, i) => 1 / Math.fround(theta ** Math.fround((2 * i) / headSize)),
  );
  return { theta, plain, ...scaled(rope, values, plain) };
}

function scaled(
  rope: ConfigReader,
  values: JsonObject,
  plain: Float32Array,
): Pick<Rope, "scaling" | "factor" | "frequencies"> {
  const name = values["rope_type"] === undefined ? "type" : "rope_type";
  switch (rope.value(name) ?? "default") {
    case "default":
    case "none":
      return { scaling: "none", factor: 1, frequencies: plain };
    case "linear": {
      const factor = rope.positive("factor");
      return { scaling: "linear", factor, frequencies: plain.map((frequency) => frequency / factor) };
    }
    case "llama3": {
      const factor = rope.positive("factor");
      return { scaling: "llama3", factor, frequencies: plain.map(llama3(rope)) };
    }
    default:
      return rope.reject(name, `one of "default", "linear", "llama3"`);
  }
}

/**
 * Long wavelengths are divided by `factor`, short ones unchanged, those in between blended
 * (`_compute_llama3_parameters`).
 */
function llama3(rope: ConfigReader): (frequency: number) => number {
  const factor = rope.positive("factor");
  const low = rope.positive("low_freq_factor");
  const high = rope.positive("high_freq_factor");
  const context = rope.count("original_max_position_embeddings");
  if (high <= low) rope.reject("high_freq_factor", `more than low_freq_factor (${low})`);
  return (frequency) => {
    const wavelength = (2 * Math.PI) / frequency;
    if (wavelength > context / low) return frequency / factor;
    if (wavelength < context / high) return frequency;
    const smooth = (context / wavelength - low) / (high - low);
    return ((1 - smooth) * frequency) / factor + smooth * frequency;
  };
}
