/** Whether the models and adapters of a recipe's policies exist and fit. */
import { globSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { command } from "../../../command-line.ts";
import { criticName } from "../../../credit/critics.ts";
import { needsInitialPolicies } from "../../../credit/kl.ts";
import type { Environment } from "../../../environments/environment.ts";
import { TroupeError } from "../../../errors.ts";
import { baseOf, holdsAdapter, textDirectory } from "../../../models/adapter-base.ts";
import { checkAdapterConfig, readAdapterOptions } from "../../../models/adapter-directory.ts";
import { isFileSync, isPresentSync } from "../../../present.ts";
import { hintAmong } from "../../mistakes.ts";
import { isAddress, isHubName } from "../../places.ts";
import type { Recipe } from "../../schema.ts";
import type { Path } from "../../tree.ts";
import type { Problem, Rule } from "../rule.ts";

type Policy = Recipe["policies"][string];

export const models: Rule = ({ recipe, environment, presets }) =>
  Object.entries(recipe.policies).flatMap(([name, policy]) => [
    ...modelProblems(["policies", name, "model"], policy, presets),
    ...wordProblems(["policies", name, "model", "preset"], policy, environment),
  ]);

/** Reads the prompts of every environment. */
const untrained = `\`${command("init", "nano", "models/bytes", "--bytes")}\` makes an untrained one to try the recipe with`;

/** A preset's tokenizer is built from the environment's words. */
function wordProblems(path: Path, { model }: Policy, { name, oracle }: Environment): readonly Problem[] {
  if ("path" in model || oracle?.words !== undefined) return [];
  const key = name === "command" ? "environment.words" : "oracle.words";
  const problem = `a preset's tokenizer is made of an environment's words, and ${name} lists none (\`${key}\`)`;
  const fix = "start from a model directory, which has a tokenizer: `model: { path: … }`";
  return [{ path, problem, fix: `${fix}; ${untrained}` }];
}

function modelProblems(
  path: Path,
  { model, adapter }: Policy,
  presets: readonly string[],
): readonly Problem[] {
  if ("path" in model) {
    const place = [...path, "path"];
    return holdsAdapter(model.path)
      ? adapterProblems(place, model.path, adapter)
      : directoryProblems(place, model.path);
  }
  if (presets.includes(model.preset)) return [];
  const fix = hintAmong(model.preset, presets, "presets");
  return [{ path: [...path, "preset"], problem: `there is no preset \`${model.preset}\``, fix }];
}

/** The base must exist, and the settings must equal the recipe's. */
function adapterProblems(path: Path, directory: string, wanted: Policy["adapter"]): readonly Problem[] {
  try {
    checkAdapterConfig(directory, wanted ?? readAdapterOptions(directory), false);
    return directoryProblems(path, baseOf(directory), textDirectory(directory));
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    const problem = error.message.replace(/\.$/, "");
    const fix = "a stored adapter keeps its settings; remove `adapter`";
    return [{ path, problem, ...(wanted === undefined ? {} : { fix }) }];
  }
}

/** @param texts the directory of the tokenizer */
function directoryProblems(path: Path, directory: string, texts: string = directory): readonly Problem[] {
  if (!isPresentSync(directory) && (isAddress(directory) || isHubName(directory)))
    return [elsewhere(path, directory)];
  if (isFileSync(directory)) {
    const problem = `${directory} is a file; expected a model's directory`;
    return [{ path, problem, fix: `give its folder: \`path: ${dirname(directory)}\`` }];
  }
  const files = [join(directory, "config.json"), join(texts, "tokenizer.json")];
  const missing = files.filter((file) => !isPresentSync(file)).map((file) => basename(file))[0];
  if (missing === undefined) return [];
  const inside = modelBelow(directory);
  if (inside !== undefined) {
    return [{ path, problem: `no ${missing} in ${directory}`, fix: `it contains the model ${inside}` }];
  }
  const problem = isPresentSync(directory)
    ? `no ${missing} in ${directory}`
    : `${directory} does not exist, seen from ${process.cwd()}`;
  return [{ path, problem, fix: placing(directory) }];
}

/** An address, or the name of a model on the hub. */
function elsewhere(path: Path, given: string): Problem {
  const name = isAddress(given) ? "NAME" : basename(given);
  const id = isAddress(given) ? "OWNER/NAME" : given;
  const problem = isAddress(given)
    ? `${given} is an address; a model must be on this machine`
    : `there is no directory ${given}; as a model of the Hugging Face hub it must be fetched first`;
  return {
    path,
    problem,
    fix: `\`hf download ${id} --local-dir models/${name}\`, then \`path: models/${name}\``,
  };
}

/** The owner on the hub of models that included recipes name. */
const owners: readonly (readonly [RegExp, string])[] = [
  [/^Qwen/, "Qwen"],
  [/^starcoder/, "bigcode"],
];

/** What to fetch for a directory named like a model of the hub. */
function placing(directory: string): string {
  const name = basename(directory);
  const owner = owners.find(([pattern]) => pattern.test(name))?.[1] ?? "OWNER";
  const fetched = `\`hf download ${owner}/${name} --local-dir ${directory}\``;
  const made = `give a model directory in the Hugging Face layout; ${untrained}`;
  return dirname(directory) === "models"
    ? `fetch it from the Hugging Face hub, ${fetched}, or ${made}`
    : made;
}

/** For a run or a checkpoint, the probable intention: a policy's directory in the newest checkpoint. */
function modelBelow(directory: string): string | undefined {
  const patterns = ["*/config.json", "checkpoints/step-*/*/config.json"];
  const found = patterns.flatMap((pattern) => globSync(pattern, { cwd: directory })).map(dirname);
  const policies = found.filter((model) => !/^critic($|-)/.test(basename(model)));
  const [newest] = policies.toSorted((a, b) => stepOf(b) - stepOf(a) || a.localeCompare(b));
  return newest === undefined ? undefined : join(directory, newest);
}

function stepOf(model: string): number {
  return Number(/step-(\d+)/.exec(model)?.[1] ?? 0);
}

export const usedPolicies: Rule = ({ recipe, algorithm }) => {
  const teams = [recipe.team, ...Object.values(recipe.evaluation.compare)];
  const used = new Set(teams.flatMap(({ roles }) => Object.values(roles).map(({ policy }) => policy)));
  if (algorithm.kl?.to !== undefined) used.add(algorithm.kl.to);
  return Object.keys(recipe.policies)
    .filter((name) => !used.has(name))
    .map((name) => ({
      path: ["policies", name],
      problem: "no role uses this policy",
      fix: "remove it, or name it in a role's `policy`",
    }));
};

export const somebodyLearns: Rule = ({ recipe }) => {
  if (Object.values(recipe.team.roles).some((role) => !role.frozen)) return [];
  const { roles, hosted } = recipe.team;
  const isHosted = Object.keys(roles).length === 0 && hosted !== undefined;
  const problem = isHosted
    ? "models of services play every role, so nothing is trained"
    : "every role is frozen, so nothing is trained";
  const fix = isHosted
    ? "move a role from `hosted` to `roles`, with a policy, or evaluate the team with `train.steps: 0`"
    : "remove `frozen` from a role, or evaluate the team with `train.steps: 0`";
  return [{ path: ["team", "roles"], problem, fix }];
};

/** The trained team is called `team` in tables and records. */
export const reservedTeam: Rule = ({ recipe }) => {
  if (!Object.hasOwn(recipe.evaluation.compare, "team")) return [];
  const problem = "the name `team` is reserved for the trained team";
  return [{ path: ["evaluation", "compare", "team"], problem, fix: "choose another name" }];
};

/** References and critics have names like policies in the engine and in checkpoints. */
export const reservedPolicies: Rule = ({ recipe, algorithm }) => {
  const policies = Object.keys(recipe.policies);
  const learning = Object.entries(recipe.team.roles).filter(([, { frozen }]) => !frozen);
  const { critic, name } = algorithm;
  const critics = critic === null ? [] : learning.map(([role]) => criticName(role, critic));
  const references = needsInitialPolicies(algorithm)
    ? policies.filter((one) => one.startsWith("reference-"))
    : [];
  const reserved = new Set([...critics, ...references]);
  return policies
    .filter((policy) => reserved.has(policy))
    .map((policy) => ({
      path: ["policies", policy],
      problem: `${name} has a model of its own that is called \`${policy}\`, ${critics.includes(policy) ? "which estimates values" : "a reference"}`,
      fix: "give the policy another name; a role may have any",
    }));
};
