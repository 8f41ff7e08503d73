/** Where weights are, as users write it: `RUN`, `RUN:NAME`, a checkpoint's folder, a model directory. */
import { join, resolve, isAbsolute } from "node:path";
import { command, runsOption, shellWord } from "../command-line.ts";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import { adapterMarker } from "../models/adapter-base.ts";
import { didYouMean } from "../nearest.ts";
import { isPresentSync } from "../present.ts";
import { listRuns } from "../runs/read.ts";
import {
  openSavedRun,
  policyNamed,
  weightsOfDirectory,
  weightsOfPolicy,
  type SavedRun,
  type Weights,
} from "../train/weights.ts";

export type Place =
  | { readonly kind: "run"; readonly run: SavedRun }
  /** A model directory, or an adapter's. */
  | { readonly kind: "model"; readonly directory: string };

/** A model directory, a checkpoint of a run, or a run by name or folder. */
export async function findPlace(given: string, runs: string): Promise<Place> {
  const holds = (file: string) => isPresentSync(join(given, file));
  if (holds("config.json") || holds(adapterMarker)) return { kind: "model", directory: given };
  const directory = holds("state.json") ? resolve(given, "..", "..") : await findRun(given, runs);
  return { kind: "run", run: await openSavedRun(directory, holds("state.json") ? given : undefined) };
}

/**
 * Parses `planner=RUN2:planner,scout=RUN:scout`, possibly given several times, into a source per role.
 * @throws TroupeError `bad_arguments`: an incomplete pair, a role named twice, or a role that the team lacks
 */
export function parsePolicies(
  given: readonly string[],
  roles: readonly string[],
): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const pair of given.flatMap((text) => text.split(","))) {
    const equals = pair.indexOf("=");
    const [role, source] = [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    if (equals === -1 || role === "" || source === "") throw halfPair(pair);
    if (!roles.includes(role)) {
      const hint = didYouMean(role, roles) ?? `its roles are ${roles.join(", ")}`;
      throw new TroupeError("bad_arguments", `--policies: the team has no role ${role}; ${hint}`);
    }
    if (sources.has(role))
      throw new TroupeError("bad_arguments", `--policies: the role ${role} is named twice`);
    sources.set(role, source);
  }
  return sources;
}

function halfPair(pair: string): TroupeError {
  const expected = "expected ROLE=RUN:NAME, such as planner=plan-path:planner, separated by commas";
  return new TroupeError("bad_arguments", `--policies: \`${pair.trim()}\` is incomplete; ${expected}`);
}

/**
 * The weights that a source means for a role: `RUN:NAME` with a role or a policy of the run; `RUN` alone for its role
 * of the same name, or for its only policy; a checkpoint's folder instead of the run; a model directory.
 */
export async function weightsFor(
  role: string,
  source: string,
  runs: string,
  scratch: string,
): Promise<Weights> {
  const [given, name] = await split(source);
  const place = await findPlace(given, runs);
  if (place.kind === "run")
    return weightsOfPolicy(
      place.run,
      name === null ? ownPolicy(place.run, role) : policyNamed(place.run, name),
      scratch,
    );
  if (name === null) return weightsOfDirectory(place.directory);
  const problem = `${given} is a model directory and has no roles or policies`;
  throw new TroupeError("bad_arguments", `${problem}; omit \`:${name}\``);
}

/** A folder's name may contain colons. */
async function split(source: string): Promise<readonly [string, string | null]> {
  const colon = source.lastIndexOf(":");
  if (colon === -1 || isPresentSync(source)) return [source, null];
  if (colon > 0 && colon < source.length - 1) return [source.slice(0, colon), source.slice(colon + 1)];
  throw new TroupeError("bad_arguments", `--policies: \`${source}\` is incomplete; expected RUN:NAME`);
}

function ownPolicy(run: SavedRun, role: string): string {
  const { recipe, name } = run;
  const played = Object.hasOwn(recipe.team.roles, role) ? recipe.team.roles[role]?.policy : undefined;
  const policies = Object.keys(recipe.policies);
  const policy = played ?? (policies.length === 1 ? policies[0] : undefined);
  if (policy !== undefined) return policy;
  const roles = Object.keys(recipe.team.roles).join(", ");
  const fix = `name one of its roles or policies, such as ${role}=${name}:${policies[0] ?? ""}`;
  throw new TroupeError(
    "bad_arguments",
    `${name} has no role ${role} (its roles: ${roles}) and several policies; ${fix}`,
  );
}

/**
 * The weights of a team's role when a whole run, or one model, is loaded.
 * @param policy the role's policy in the recipe that is evaluated
 */
export async function defaultWeights(
  place: Place,
  role: string,
  policy: string,
  scratch: string,
): Promise<Weights> {
  if (place.kind === "model") return weightsOfDirectory(place.directory);
  const isKnown = Object.hasOwn(place.run.recipe.policies, policy);
  return weightsOfPolicy(place.run, isKnown ? policy : ownPolicy(place.run, role), scratch);
}

/** The folder of a run given by name or folder. */
export async function findRun(given: string, folder: string): Promise<string> {
  // Below the folder of runs, `../one` would be another run than the one it names from here.
  const isPath = isAbsolute(given) || given.split(/[/\\]/).some((part) => part === "." || part === "..");
  for (const directory of isPath ? [given] : [join(folder, given), given]) {
    if (isPresentSync(join(directory, "recipe.yaml"))) return directory;
  }
  if (isPresentSync(given)) {
    const problem = `${given} is neither a run (no recipe.yaml) nor a model directory (no config.json)`;
    const inside = (await listRuns(given).catch(() => []))
      .filter(({ directory }) => isPresentSync(join(directory, "recipe.yaml")))
      .map(({ name }) => name);
    const how = ["", ...runsOption(given).map(shellWord)].join(" ");
    const advice =
      inside.length === 0
        ? firstRun(folder)
        : `name one of its runs${how === "" ? "" : `, with${how}`}: ${showText(inside.join(", "), 200)}`;
    throw new TroupeError("bad_arguments", `${problem}; ${advice}`);
  }
  if (/[/\\]/.test(given)) {
    const problem = `there is no directory ${given}, relative to ${process.cwd()}`;
    throw new TroupeError("bad_arguments", `${problem}; give a run's name, its folder, or a model directory`);
  }
  const names = (await listRuns(folder)).map((run) => run.name);
  const hint =
    names.length === 0
      ? `there is none at all in ${resolve(folder)}; ${firstRun(folder)}`
      : (didYouMean(given, names) ?? `there are ${names.join(", ")}`);
  throw new TroupeError("bad_arguments", `there is no run ${given} in ${folder}; ${hint}`);
}

export function noRuns(folder: string): string[] {
  return [`no runs in ${folder}; ${firstRun(folder)}`];
}

function firstRun(folder: string): string {
  return `\`${command("train", "plan-path", ...runsOption(folder))}\` creates one`;
}
