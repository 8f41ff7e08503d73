/** Conversions of published values that differ from ours in more than their key. */
import { posix } from "node:path";
import { findProblemSet } from "../../data/sets/registered.ts";
import { expertNamed } from "../../environments/code/experts/names.ts";
import { isPresentSync } from "../../present.ts";
import type { PythonValue } from "./python-literal.ts";

/** `Qwen/Qwen2.5-Coder-7B` on the hub is `models/Qwen2.5-Coder-7B`; an existing directory stays as it is. */
export const modelDirectory: Conversion = (value) => {
  const name = textOf(value, "a model's name or directory");
  const isDirectory = isPresentSync(posix.join(name, "config.json")) || /^(\.{0,2}\/|models\/)/.test(name);
  return isDirectory ? name : posix.join("models", posix.basename(name));
};

/** The published code recognises a data set by its name; its MBPP is the sanitized one. */
export const dataset: Conversion = (value) => {
  const name = textOf(value, "a data set's name");
  const known = findProblemSet(name)?.name;
  const family = ["coophumaneval", "humaneval", "mbpp"].find((each) => name.toLowerCase().includes(each));
  if (known === undefined && family === "mbpp") return { name: family, config: "sanitized" };
  return known ?? family ?? name;
};

/** Tests shown: absent and `all` are all of them. */
export const shownTests: Conversion = (value) => (value === null || value === "all" ? 0 : value);

export const noneIsZero: Conversion = (value) => value ?? 0;

const modes: Readonly<Record<string, string>> = { align: "aligned", crossed: "cross" };
export const jointMode: Conversion = (value) => lookUp(modes, value) ?? value;

const baselines: Readonly<Record<string, string>> = {
  mean: "magrpo",
  raw: "mareinforce",
  max: "maremax",
  rloo: "marloo",
};
export const algorithmOfMode: Conversion = (value) => {
  const name = lookUp(baselines, value);
  if (name === undefined) throw new UnfitValue(`expected one of ${Object.keys(baselines).join(", ")}`);
  return name;
};

const memories: Readonly<Record<string, string>> = {
  last: "turn",
  full: "conversation",
  memoryful: "conversation",
};
export const memory: Conversion = (value) => lookUp(memories, value) ?? value;

/** Adds what the published code does from the second turn on to a recipe of one turn, or removes it. */
export const turns: Settings = (value, translation) => {
  const { recipe } = translation;
  const own = to("team.turns")(value, translation);
  if (!isMagrpo(recipe)) return own;
  if (value === 1) return [...own, ...unset(recipe, ["handOver", "terminationThreshold", "earlyEndWeight"])];
  const isChosen = valueAt(recipe, "algorithm.handOver") !== undefined;
  return isChosen ? own : [...own, algorithm("handOver", "best"), ...earlyEnd(2, recipe)];
};

/** One weight for one turn is 1. */
export const turnWeights: Settings = (value, translation) => {
  const length = translation.given("magrpo.num_turns") ?? valueAt(translation.recipe, "team.turns");
  const isOne = length === 1 && Array.isArray(value) && value.length === 1;
  return to("algorithm.turnWeights")(isOne ? null : value, translation);
};

export const earlyEndWeight: Settings = (value, { recipe }) => earlyEnd(value, recipe);

/** The published code ends an episode whose joint actions all earn the maximum. */
function earlyEnd(weight: PythonValue, recipe: Plain): readonly Setting[] {
  const most = valueAt(recipe, "algorithm.alpha");
  const isSet = valueAt(recipe, "algorithm.terminationThreshold") !== undefined;
  const threshold = isSet || typeof most !== "number" ? [] : [algorithm("terminationThreshold", below(most))];
  return [algorithm("earlyEndWeight", weight), ...threshold];
}

/** Rewards must exceed ours and reach the published one; since version 1.2.6, rewards minus their maximum must exceed it. */
export const threshold: Settings = (value, { recipe }) => {
  const most = Number(valueAt(recipe, "algorithm.alpha") ?? 1);
  if (typeof value !== "number") return [algorithm("terminationThreshold", value)];
  return [algorithm("terminationThreshold", value > 0 ? below(value) : round(most + value))];
};

function below(value: number): number {
  return round(value - 0.001);
}

/** Without the digits that are due to binary fractions. */
function round(value: number): number {
  return Number(value.toPrecision(12));
}

/** Scales the rewards of the recipe's files. */
export const scale: Settings = (value, { base, given }) => {
  if (given("reward_processor.enabled") === false) return [];
  if (typeof value !== "number") throw new UnfitValue("expected a number");
  return [algorithm("alpha", round(value * Number(valueAt(base, "algorithm.alpha") ?? 1)))];
};

/** The published default expert, where the recipe has none. */
export const feedback: Settings = (value, translation) => {
  const own = to("environment.feedback")(value, translation);
  const asksExpert = ["expert_edits", "expert", "edits"].some((name) => name === value);
  const isNamed = valueAt(translation.recipe, "environment.expert") !== undefined;
  return asksExpert && !isNamed ? [...own, ...expert("deepseek-coder", translation)] : own;
};

/** The provider follows from the model's name, as in the published code. */
export const expert: Settings = (value, { recipe }) => {
  const named = expertNamed(textOf(value, "a model's name"));
  const old = ["baseUrl", "keyVariable"].filter(
    (key) => valueAt(recipe, `environment.expert.${key}`) !== undefined,
  );
  const removed = Object.fromEntries(old.map((key) => [key, null]));
  return [{ path: ["environment", "expert"], value: { ...named, ...removed } }];
};

/** The team's size is that of its recipe. */
export const agents: Settings = (value, { recipe }) => {
  const roles = Object.keys(valueAt(recipe, "team.roles") ?? {});
  if (value === roles.length) return [];
  throw new UnfitValue(`the recipe has ${roles.length}: ${roles.join(", ")}; choose another recipe`);
};

export const epochs: Settings = (value) => {
  if (typeof value !== "number" || value < 0) throw new UnfitValue("expected a number of epochs");
  return [{ path: ["train", "steps"], value, unit: "epochs" }];
};

type Plain = Readonly<Record<string, unknown>>;

function isMagrpo(recipe: Plain): boolean {
  const name = valueAt(recipe, "algorithm.name");
  return Object.values(baselines).some((each) => each === name);
}

function lookUp(table: Readonly<Record<string, string>>, value: PythonValue): string | undefined {
  return typeof value === "string" && Object.hasOwn(table, value) ? table[value] : undefined;
}

function algorithm(option: string, value: PythonValue): Setting {
  return { path: ["algorithm", option], value };
}

function unset(recipe: Plain, options: readonly string[]): readonly Setting[] {
  const set = options.filter((option) => valueAt(recipe, `algorithm.${option}`) !== undefined);
  return set.map((option) => algorithm(option, null));
}

function textOf(value: PythonValue, what: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new UnfitValue(`expected ${what}`);
}

export interface Setting {
  readonly path: readonly string[];
  /** null: the key's default. */
  readonly value: PythonValue;
  /** `train.steps` in passes over the training split. */
  readonly unit?: "epochs";
}

export interface Translation {
  /** The recipe so far, as plain values. */
  readonly recipe: Plain;
  /** The recipe's files without overrides. */
  readonly base: Plain;
  /** The last value given for a published key. */
  readonly given: (key: string) => PythonValue | undefined;
}

export type Settings = (value: PythonValue, translation: Translation) => readonly Setting[];
export type Conversion = (value: PythonValue) => PythonValue;

/** A value that the published key does not accept. The message names what was expected. */
export class UnfitValue extends Error {}

/** The value of a recipe's key; undefined if it is absent. */
export function valueAt(recipe: Plain, path: string): unknown {
  return path.split(".").reduce<unknown>((found, key) => entriesOf(found)[key], recipe);
}

/** `NAME` is every policy, or every role. */
function pathsOf(path: string, recipe: Plain): readonly (readonly string[])[] {
  const [before, after] = path.split(".NAME.");
  if (after === undefined) return [path.split(".")];
  const names = Object.keys(entriesOf(valueAt(recipe, before ?? "")));
  return names.map((name) => [...(before ?? "").split("."), name, ...after.split(".")]);
}

function entriesOf(value: unknown): Plain {
  return typeof value === "object" && value !== null ? (value as Plain) : {};
}

/** The value, converted, at the path. */
export function to(path: string, convert: Conversion = (value) => value): Settings {
  return (value, { recipe }) => pathsOf(path, recipe).map((each) => ({ path: each, value: convert(value) }));
}
