/** `troupe play`: a person takes a role in the terminal; a run's policies or the solver play the others. */
import { playGames, solverActor, trainedActor, type Actor } from "./game.ts";
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { didYouMean } from "../../nearest.ts";
import { buildTeam } from "../../teams/build.ts";
import type { Role, Team } from "../../teams/team.ts";
import { withServices } from "../../train/services.ts";
import { namedTeams } from "../../train/teams.ts";
import { wholeNumber, recipeOrEnvironment, withOverrideOption, type OverrideOptions } from "../arguments.ts";
import { askPerson } from "../person.ts";
import { findRun } from "../places.ts";
import { withTrainedTeam } from "../trained-team.ts";
import type { Game } from "./position.ts";

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
  const { environment } = game;
  if (environment.drive !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `${environment.name} is played by its own program, in which nobody can take a seat.`,
    );
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
