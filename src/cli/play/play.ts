/** `troupe play`: a person takes a role in the terminal; a run's policies or the solver play the others. */
import { playGames, settingOf, solverActor, trainedActor, type Actor } from "./game.ts";
import { Command } from "commander";
import { command, runsFolder } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { didYouMean } from "../../nearest.ts";
import { buildTeam } from "../../teams/build.ts";
import type { Role, Team } from "../../teams/team.ts";
import { checkContinuable } from "../../train/playing.ts";
import { withServices } from "../../train/services.ts";
import { namedTeams } from "../../train/teams.ts";
import { wholeNumber, recipeOrEnvironment, withOverrideOption, type OverrideOptions } from "../arguments.ts";
import { askPerson } from "../person.ts";
import { findRun } from "../places.ts";
import { withTrainedTeam, type TrainedTeam } from "../trained-team.ts";
import type { Episode } from "../../rollout/episode.ts";
import { readEpisodes, type StoredEpisode } from "../../rollout/stored.ts";
import { actingRoles, recordedPosition, type Game, type Position } from "./position.ts";

interface PlayArguments extends OverrideOptions {
  readonly role?: string;
  readonly run?: string;
  readonly runs: string;
  readonly seed: number;
  readonly from?: string;
  readonly node?: string;
}

export function playCommand(): Command {
  return withOverrideOption(new Command("play"))
    .description("take a role yourself; the others are played by a run's policies or by the solver")
    .argument("[recipe-or-environment]", "team and rules (default: the run's own recipe)")
    .argument("[key.path=value...]", "changes to the recipe, `environment.size=6`")
    .option("--role <role>", "your role (default: the first to act, or with --from to act next)")
    .option("--run <run>", "run whose policies play the other roles (default: the solver)")
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--from <episode>", "with --run: play on from this recorded episode, such as train/12/3")
    .option("--node <node>", "with --from: the state to play on from, such as 3.0 (default: the first)")
    .option("--seed <number>", "random seed of the tasks", wholeNumber(0), 1)
    .action(async (given: string | undefined, overrides: string[], options: PlayArguments) => {
      if (options.node !== undefined && options.from === undefined)
        throw new TroupeError("bad_arguments", "--node needs --from: it is a state of that episode");
      if (options.run !== undefined) {
        if (overrides.length === 0 && !options.override) return playWithRun(given, options, options.run);
        throw new TroupeError("bad_arguments", "overrides are not supported with --run");
      }
      if (options.from !== undefined) throw new TroupeError("bad_arguments", "--from needs --run");
      if (given === undefined) {
        throw new TroupeError("bad_arguments", "name a recipe or an environment, or a run with --run");
      }
      const game = await gameOf(given, overrides, options);
      await play(game, solverActor, options);
    });
}

async function playWithRun(given: string | undefined, options: PlayArguments, run: string): Promise<void> {
  const place = await findRun(run, options.runs);
  const stored = options.from === undefined ? null : await storedIn(place, options.from);
  const team = stored?.entry.evaluation?.team;
  await withTrainedTeam(place, { runs: options.runs, recipe: given, team }, async (trained) => {
    const game = { environment: trained.resolved.environment, team: trained.team };
    const { environment, recipe } = trained.resolved;
    if (stored !== null) checkContinuable(environment, recipe, `${stored.episode.id} cannot be continued`);
    const start = stored === null ? undefined : await startIn(game, trained, stored.episode, options.node);
    await play(game, (lent) => trainedActor(lent, trained), options, start);
  });
}

/** The state of a recorded episode from which a game continues. */
interface Start {
  readonly position: Position;
  /** The first line that the person reads. */
  readonly said: string;
}

async function startIn(game: Game, trained: TrainedTeam, episode: Episode, node = ""): Promise<Start> {
  if (!episode.nodes.some(({ id }) => id === node)) {
    const known = episode.nodes.flatMap(({ id }) => (id === "" ? [] : [id]));
    const problem = `--node: ${episode.id} has no state ${node}`;
    throw new TroupeError("bad_arguments", `${problem}; it has ${showText(known.join(", "), 200)}`);
  }
  const position = await recordedPosition(settingOf(game, trained), episode, node);
  const [step] = Object.values(trained.weights).flatMap((weights) => weights.step ?? []);
  const weights = step === undefined ? "untrained weights" : `the weights after step ${step}`;
  const state = node === "" ? "its first state" : `state ${node}`;
  return { position, said: `Continuing from ${episode.id}, ${state}, with ${weights}.` };
}

/** @throws TroupeError `bad_arguments` if the run does not keep it */
async function storedIn(run: string, id: string): Promise<StoredEpisode> {
  for await (const stored of readEpisodes(run, { id })) return stored;
  throw new TroupeError(
    "bad_arguments",
    `--from: ${run} keeps no episode ${id}; \`${command("view", run)}\` lists them`,
  );
}

async function play(
  game: Game,
  others: (game: Game) => Actor,
  { role, seed }: PlayArguments,
  start?: Start,
): Promise<void> {
  const { environment } = game;
  if (environment.drive !== undefined)
    throw new TroupeError(
      "bad_arguments",
      `${environment.name} is played by its own program, in which nobody can take a seat.`,
    );
  using person = askPerson(process.stdin, process.stdout);
  await withServices((services) => {
    const lent = { ...game, services };
    const [next] = start === undefined ? [] : actingRoles(game, start.position);
    const own = chosenRole(game.team, role ?? next?.name);
    if (start !== undefined) person.tell(start.said);
    return playGames({ ...lent, role: own, others: others(lent), seed, person, start: start?.position });
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
