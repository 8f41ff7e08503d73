/** `troupe play`: a person takes a role in the terminal; a run's policies or the solver play the others. */
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { plainReply } from "../../environments/progression.ts";
import { TroupeError } from "../../errors.ts";
import { jsonOrNull } from "../../json.ts";
import { didYouMean } from "../../nearest.ts";
import { keyAt, rootKey } from "../../random.ts";
import { sampleRole } from "../../rollout/act.ts";
import { oneTrajectory, rolloutDefaults, type RolloutSetting } from "../../rollout/setting.ts";
import { showsThinking, thoughtsIn } from "../../rollout/thinking.ts";
import { buildTeam } from "../../teams/build.ts";
import type { Role, Team, RoleName } from "../../teams/team.ts";
import { isObject, type JsonObject } from "../../text/files.ts";
import { withAction } from "../../text/history.ts";
import type { Tool } from "../../text/messages.ts";
import type { Reply } from "../../text/replies.ts";
import { withServices } from "../../train/services.ts";
import { namedTeams } from "../../train/teams.ts";
import { wholeNumber, recipeOrEnvironment, withOverrideOption, type OverrideOptions } from "../arguments.ts";
import { findRun } from "../places.ts";
import { withTrainedTeam, type TrainedTeam } from "../trained-team.ts";
import { playGames } from "./game.ts";
import { askPerson, nodeOf, type Game, type Position, type Written } from "./table.ts";

interface PlayArguments extends OverrideOptions {
  readonly role?: string;
  readonly run?: string;
  readonly runs: string;
  readonly seed: number;
}

export function playCommand(): Command {
  return withOverrideOption(new Command("play"))
    .description("take a role yourself; the others are played by a run's policies or by the solver")
    .argument("[recipe-or-environment]", "team and rules (default: the run's own recipe)")
    .argument("[key.path=value...]", "changes to the recipe, `environment.size=6`")
    .option("--role <role>", "your role (default: the first to act)")
    .option("--run <run>", "run whose policies play the other roles (default: the solver)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--seed <number>", "random seed of the tasks", wholeNumber(0), 1)
    .action(async (given: string | undefined, overrides: string[], options: PlayArguments) => {
      if (options.run !== undefined) {
        if (overrides.length === 0 && !options.override) return playWithRun(given, options, options.run);
        throw new TroupeError("bad_arguments", "overrides are not supported with --run");
      }
      if (given === undefined) {
        throw new TroupeError("bad_arguments", "name a recipe or an environment, or a run with --run");
      }
      const game = await gameOf(given, overrides, options);
      await play(game, solverActor, options);
    });
}

async function playWithRun(given: string | undefined, options: PlayArguments, run: string): Promise<void> {
  const place = await findRun(run, options.runs);
  await withTrainedTeam(place, { runs: options.runs, recipe: given }, async (trained) => {
    const game = { environment: trained.resolved.environment, team: trained.team };
    await play(game, (lent) => trainedActor(lent, trained), options);
  });
}

async function play(game: Game, others: (game: Game) => Actor, { role, seed }: PlayArguments): Promise<void> {
  using person = askPerson(process.stdin, process.stdout);
  await withServices((services) => {
    const lent = { ...game, services };
    return playGames({ ...lent, role: chosenRole(game.team, role), others: others(lent), seed, person });
  });
}

/** A recipe's team, or one role in each seat of an environment. */
async function gameOf(given: string, overrides: readonly string[], options: OverrideOptions): Promise<Game> {
  const { environment, recipe } = await recipeOrEnvironment(given, overrides, options);
  if (recipe !== undefined) return { environment, team: namedTeams(recipe, environment)[0].team };
  const seats = Object.keys(environment.seats);
  const roles = Object.fromEntries(seats.map((seat) => [seat, { policy: "solver" }]));
  const phases = environment.next === undefined ? seats.map((seat) => [seat]) : [];
  const team = { roles, phases, turns: 4 };
  return { environment, team: buildTeam(team, environment) };
}

function chosenRole(team: Team, wanted: string | undefined): Role {
  const name = wanted ?? team.phases[0]?.[0] ?? team.roles[0]?.name;
  const found = team.roles.find((role) => role.name === name);
  if (found !== undefined) return found;
  const names = team.roles.map((role) => role.name);
  const hint = didYouMean(String(name), names) ?? `the roles are ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `the team has no role ${name}; ${hint}`);
}

/** Writes the action of one role. `game` counts the games. */
export type Actor = (role: Role, position: Position, game: number) => Promise<Written>;

/** Acts for the roles that the person does not play: a run's policies, or the environment's solver. */
export function solverActor({ environment }: Game): Actor {
  return async (role, position) => {
    if (environment.oracle?.solve === undefined) {
      const fix = "use --run to let a run's policies play the other roles";
      throw new TroupeError("bad_arguments", `${environment.name} has no solver; ${fix}`);
    }
    return { role, reply: plainReply(environment.oracle.solve(position.state, role.seat)) };
  };
}

/** As in an evaluation: with its temperature, without training. */
export function trainedActor(game: Game, { resolved, engine, policies }: TrainedTeam): Actor {
  const { temperature, topP } = resolved.recipe.evaluation;
  const setting: RolloutSetting = {
    ...rolloutDefaults,
    ...game,
    engine,
    policies,
    scheme: oneTrajectory,
    score: () => 0,
    sampling: { temperature, topP },
  };
  return async (role, position, number) => {
    const key = keyAt(rootKey(resolved.recipe.seed), "play", number);
    const thoughtsFor = (name: RoleName) => thoughtsIn(position.said, game.team, name);
    const node = { ...nodeOf(position), ...(showsThinking(game.team) ? { thoughtsFor } : {}) };
    const [draft] = await sampleRole(setting, key, node, role.name, position.histories, 1);
    if (draft === undefined) throw new TroupeError("internal", "the engine sampled nothing");
    return { role, reply: draft.reply, history: withAction(draft.history, draft.sequence.tokens) };
  };
}

/**
 * Returns undefined if the line is not a tool call. A call of an unknown tool is still a call: its error message is the one
 * that models get.
 */
export function callIn(text: string, tools: readonly Tool[]): Reply | undefined {
  const [, name, rest = ""] = /^\/([\w-]+)\s*([^]*)$/.exec(text) ?? [];
  if (name === undefined || tools.length === 0) return undefined;
  const tool = tools.find((one) => one.name === name);
  return { text: "", calls: [{ name, arguments: argumentsIn(rest, tool) }], truncated: false };
}

/** A text is the value of the only required argument. */
function argumentsIn(written: string, tool: Tool | undefined): JsonObject {
  const given = jsonOrNull(written);
  if (isObject(given)) return given;
  const required = tool?.parameters?.["required"];
  const only: unknown = Array.isArray(required) && required.length === 1 ? required[0] : undefined;
  return typeof only === "string" ? { [only]: written.trim() } : {};
}
