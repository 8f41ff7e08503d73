/** A team with the weights of its roles, from one or several runs or model directories, loaded for playing only. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Engine } from "../engines/engine.ts";
import { retryingEngine } from "../engines/retrying.ts";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { resolveRecipe, type ResolvedRecipe } from "../recipes/resolve.ts";
import type { Recipe } from "../recipes/schema.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { showWarning } from "../recipes/validation/warnings.ts";
import { changedModules } from "../recipes/write.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRecipe } from "../runs/read.ts";
import type { Team } from "../teams/team.ts";
import type { Weights } from "../train/weights.ts";
import { retriesOf } from "../train/failures.ts";
import { openTeam, type RoleWeights } from "../train/weights.ts";
import type { OpenPolicies } from "../train/policies.ts";
import { namedTeams, type NamedTeam } from "../train/teams.ts";
import { defaultWeights, findPlace, parsePolicies, weightsFor, type Place } from "./places.ts";
import { printNote } from "./print.ts";
import { checkMachine, hasPrograms } from "./needs.ts";

export interface TeamChoice {
  /** Folder of the runs. */
  readonly runs: string;
  /** Play in this recipe instead of the run's own, for example on a larger board. */
  readonly recipe?: string | undefined;
  /** Of that recipe; the weights stay as they are. */
  readonly overrides?: readonly string[] | undefined;
  /** `team`, or a name under evaluation.compare. */
  readonly team?: string | undefined;
  /** Other weights for some roles: `planner=RUN:planner,scout=…`. */
  readonly policies?: readonly string[] | undefined;
  /** False: its environment is only asked for system messages, and needs nothing of this machine. Default: true. */
  readonly isPlayed?: boolean;
}

export interface TrainedTeam {
  readonly resolved: ResolvedRecipe;
  /** The run's folder; null: the weights are in a model directory. */
  readonly run: string | null;
  readonly name: string;
  /** Its roles use the policies below, whatever the recipe calls them. */
  readonly team: Team;
  readonly engine: Engine;
  readonly policies: OpenPolicies;
  /** What each role plays with. */
  readonly weights: RoleWeights;
}

/**
 * Loads the weights and passes the team to `use`.
 * @param given a run by name or folder, a checkpoint's folder, or a model directory
 */
export async function withTrainedTeam<Value>(
  given: string,
  choice: TeamChoice,
  use: (team: TrainedTeam) => Promise<Value>,
): Promise<Value> {
  const place = await findPlace(given, choice.runs);
  const resolved = await resolveRecipe(recipeFile(place, choice.recipe), choice.overrides);
  if (place.kind === "run") await warnOfModules(place.run.directory, resolved.recipe);
  const run = place.kind === "run" ? place.run.directory : null;
  const isPlayed = choice.isPlayed ?? true;
  if (isPlayed && (run === null || !(await hasPrograms(run)))) await checkMachine(resolved.environment);
  const { name, team } = chosenTeam(namedTeams(resolved.recipe, resolved.environment), choice.team ?? "team");
  const scratch = await mkdtemp(join(tmpdir(), "troupe-models-"));
  try {
    const weights = await weightsOf(place, team, choice, scratch);
    const engine = retryingEngine(await resolved.configuredEngine.open(), retriesOf(resolved.recipe));
    try {
      const open = await openTeam(engine, resolved.environment, team, weights);
      return await use({ resolved, run, name, engine, weights, ...open });
    } finally {
      await engine.close();
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The weights were trained with the module as it was then. */
async function warnOfModules(directory: string, recipe: Recipe): Promise<void> {
  const changed = changedModules(await readRecipe(directory), recipe);
  for (const warning of changed) printNote(showWarning(warning));
}

function recipeFile(place: Place, recipe: string | undefined): string {
  if (recipe !== undefined) return findRecipe(recipe);
  if (place.kind === "run") return layoutOf(place.run.directory).recipe;
  const fix = "give its team and environment with --recipe";
  throw new TroupeError("bad_arguments", `${place.directory} is a model directory; ${fix}`);
}

function chosenTeam(teams: readonly NamedTeam[], wanted: string): NamedTeam {
  const found = teams.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const names = teams.map(({ name }) => name);
  const hint = didYouMean(wanted, names) ?? `there is ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `the recipe has no team ${wanted}; ${hint}`);
}

/** Every role's weights; all are found before any are loaded. */
async function weightsOf(
  place: Place,
  team: Team,
  { runs, policies = [] }: TeamChoice,
  scratch: string,
): Promise<RoleWeights> {
  const sources = parsePolicies(
    policies,
    team.roles.map((role) => role.name),
  );
  const weights: Record<string, Weights> = {};
  for (const { name, policy } of team.roles) {
    const source = sources.get(name);
    weights[name] = await (source === undefined
      ? defaultWeights(place, name, policy, scratch)
      : weightsFor(name, source, runs, scratch));
  }
  return weights;
}
