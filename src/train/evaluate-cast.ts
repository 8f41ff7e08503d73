/** A team in which each role plays with weights of its own choice, from one run or several: opened to play, not to train. */
import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Engine } from "../engines/engine.ts";
import { readAdapterOptions } from "../models/adapter-directory.ts";
import type { Environment } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import type { Team } from "../teams/team.ts";
import { loadTokenizer } from "../text/tokenizer.ts";
import { checkWords } from "./check-words.ts";
import type { Weights } from "./evaluate-weights.ts";
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
  checkWords(environment, tokenizer, { model: weights.label, advice: adviceFor(weights) });
  const model = base ?? directory;
  const adapter = base === null ? {} : { adapter: readAdapterOptions(directory) };
  const info = await engine.createPolicy({ name, model, ...adapter });
  if (base !== null) await engine.load(name, directory);
  return { tokenizer, maxLength: info.maxLength, info, source: directory };
}

function adviceFor({ environment: own }: Weights): string {
  const origin = own === null ? "" : `It was trained on ${describe(own)}. `;
  return `${origin}Take weights of the same environment with the same options, or play their own recipe.`;
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
