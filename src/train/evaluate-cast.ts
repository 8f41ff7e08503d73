/** A team in which each role plays with weights of its own choice, from one run or several: opened to play, not to train. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { AdapterOptions, Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Team } from "../teams/team.ts";
import { readObject } from "../text/files.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import type { Weights } from "./evaluate-weights.ts";
import { adapterFile } from "./evaluate-weights.ts";
import type { OpenPolicies, OpenPolicy } from "./policies.ts";

/** The weights that each role of a team plays with, by role. */
export type Cast = Readonly<Record<string, Weights>>;

export interface OpenCast {
  /** The team given, its roles playing with the policies below. */
  readonly team: Team;
  readonly policies: OpenPolicies;
}

/**
 * Loads what the cast names. Weights that several roles play with are loaded once, and adapters share a base.
 * @throws TroupeError `bad_arguments` where a model does not know the environment's words
 */
export async function openCast(
  engine: Engine,
  environment: Environment,
  team: Team,
  cast: Cast,
): Promise<OpenCast> {
  const policies: Record<string, OpenPolicy> = {};
  const names = new Map<string, string>();
  const roles: Team["roles"][number][] = [];
  for (const role of team.roles) {
    const weights = cast[role.name];
    if (weights === undefined) throw new TroupeError("internal", `nobody plays the role ${role.name}`);
    const place = await realpath(weights.directory).catch(() => weights.directory);
    const name = names.get(place) ?? freeName(weights.label, policies);
    policies[name] ??= await openWeights(engine, environment, name, weights);
    names.set(place, name);
    roles.push({ ...role, policy: name });
  }
  return { team: { ...team, roles }, policies };
}

async function openWeights(
  engine: Engine,
  environment: Environment,
  name: string,
  weights: Weights,
): Promise<OpenPolicy> {
  const { directory, base } = weights;
  const source = base === null || existsSync(path.join(directory, "tokenizer.json")) ? directory : base;
  const tokenizer = loadTokenizer(source);
  checkWords(environment, tokenizer, weights);
  const model = base ?? directory;
  const adapter = base === null ? {} : { adapter: adapterOf(directory) };
  const info = await engine.createPolicy({ name, model, ...adapter });
  if (base !== null) await engine.load(name, directory);
  return { tokenizer, maxLength: info.maxLength, info, source: directory };
}

/** The engine checks the file's other settings when it loads the weights; the seed's values are replaced by them. */
function adapterOf(directory: string): AdapterOptions {
  const { r, lora_alpha: alpha, target_modules: targets } = readObject(directory, adapterFile);
  if (typeof r !== "number" || typeof alpha !== "number" || !Array.isArray(targets)) {
    const problem = "needs the numbers r and lora_alpha and the list target_modules";
    throw new TroupeError("bad_model", `${path.join(directory, adapterFile)} ${problem}`);
  }
  return { rank: r, alpha, targetModules: targets.map(String), seed: 0 };
}

/** A word-level model of another environment would read nothing but unknown words. */
function checkWords(
  environment: Environment,
  tokenizer: Tokenizer,
  { label, environment: own }: Weights,
): void {
  const unknown = environment.words.filter((word) => !knows(tokenizer, word));
  if (unknown.length === 0) return;
  const shown = unknown.slice(0, 6).join(" ") + (unknown.length > 6 ? " …" : "");
  const count = `${unknown.length} of the ${environment.words.length} words of ${environment.name}`;
  const origin = own === null ? "" : ` It was trained on ${describe(own)}.`;
  throw new TroupeError(
    "bad_arguments",
    `the tokenizer of ${label} does not know ${count}: ${shown}.${origin} ` +
      "Take weights of the same environment with the same options, or play their own recipe.",
  );
}

function knows(tokenizer: Tokenizer, word: string): boolean {
  try {
    return tokenizer.decode(tokenizer.encode(word)) !== "";
  } catch (error) {
    // A tokenizer without an unknown token says so itself.
    if (error instanceof TroupeError && error.code === "bad_model") return false;
    throw error;
  }
}

function describe({ name, ...options }: NonNullable<Weights["environment"]>): string {
  const plain = Object.entries(options).filter(([, value]) => typeof value !== "object");
  return [name, ...plain.map(([key, value]) => `${key}=${String(value)}`)].join(" ");
}

function freeName(label: string, taken: Readonly<Record<string, unknown>>): string {
  let name = label;
  for (let number = 2; Object.hasOwn(taken, name); number++) name = `${label} (${number})`;
  return name;
}
