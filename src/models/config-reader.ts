/** Reads settings of a model's JSON files with checks. */
import { TroupeError } from "../errors.ts";
import type { JsonObject } from "../text/files.ts";

/** Reads settings of config.json; every error names the file and the setting. */
export class ConfigReader {
  readonly file: string;
  readonly #values: JsonObject;

  constructor(file: string, values: JsonObject) {
    this.file = file;
    this.#values = values;
  }

  value(name: string): unknown {
    return this.#values[name] ?? undefined;
  }

  /** Whether the setting is null, which for transformers is not the same as absent. */
  isNull(name: string): boolean {
    return this.#values[name] === null;
  }

  /** Rejects settings with other names, unless they are null. */
  knowsOnly(names: readonly string[]): void {
    for (const name of Object.keys(this.#values))
      if (!names.includes(name) && !this.isNull(name))
        this.reject(name, "nothing, because it is not supported");
  }

  reject(name: string, expected: string): never {
    const found = JSON.stringify(this.#values[name]) ?? "missing";
    throw new TroupeError("bad_model", `${this.file}: ${name} is ${found}; expected ${expected}.`);
  }

  count(name: string, fallback?: number, most = 2 ** 24, least = 1): number {
    const value = this.value(name) ?? fallback;
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
      return value as number;
    return this.reject(name, `a whole number from ${least} to ${most}`);
  }

  positive(name: string, fallback?: number): number {
    const value = this.value(name) ?? fallback;
    if (typeof value === "number" && value > 0 && Number.isFinite(value)) return value;
    return this.reject(name, "a positive number");
  }

  flag(name: string, fallback = false): boolean {
    const value = this.value(name) ?? fallback;
    return typeof value === "boolean" ? value : this.reject(name, "true or false");
  }

  /** Settings with only one supported value; undefined: with none. */
  only(name: string, expected: unknown): void {
    const value = this.value(name);
    if (value === undefined || value === expected) return;
    const supported = expected === undefined ? "nothing" : JSON.stringify(expected);
    this.reject(name, `${supported}, the only value this engine supports`);
  }
}
