/** `troupe replay RUN`: replays a run's episodes and reports every difference. */
import type { Services } from "../../environments/environment.ts";
import { withServices } from "../../train/services.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { TroupeError } from "../../errors.ts";
import { rootKey } from "../../random.ts";
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import { resolveRecipe } from "../../recipes/resolve.ts";
import type { Action } from "../../rollout/episode.ts";
import type { StoredEpisode } from "../../rollout/stored.ts";
import { readStored } from "../../rollout/stored.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { loadTokenizer } from "../../text/tokenizer.ts";
import type { LoadedPolicy, Difference, ReplaySetting } from "../../train/replay.ts";
import { compareLogprobs, replayEpisode } from "../../train/replay.ts";
import { evaluationSeed } from "../../environments/tasks.ts";
import type { SavedRun } from "../../train/weights.ts";
import { weightsOfPolicy } from "../../train/weights.ts";
import { namedTeams } from "../../train/teams.ts";
import type { SelectionOptions } from "./selection.ts";
import { selectEpisodes, selectionOf, withSelection } from "./selection.ts";
import { exitCodes } from "../exit.ts";
import { findPlace } from "../places.ts";
import { printJson, printLines } from "../print.ts";
import type { TrainedTeam } from "../trained-team.ts";
import { withTrainedTeam } from "../trained-team.ts";
import { runsFolder } from "../../command-line.ts";

interface ReplayArguments extends SelectionOptions {
  readonly logprobs?: boolean;
  readonly runs: string;
  readonly json?: boolean;
}

/** Most differences printed. */
const mostShown = 20;

export function replayCommand(): Command {
  const command = new Command("replay")
    .description("play a run's recorded episodes again and report every difference")
    .argument("<run>", "name or folder of a run, or a checkpoint's folder");
  return withSelection(command)
    .option(
      "--logprobs",
      "also compute the log-probabilities again, of what the checkpoint's weights sampled",
    )
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(async (given: string, options: ReplayArguments) => {
      const place = await findPlace(given, options.runs);
      if (place.kind !== "run")
        throw new TroupeError("bad_arguments", `${given} is not a run: it has no episodes`);
      const entries = await selectEpisodes(place.run.directory, selectionOf(options));
      const report = await withServices(
        (services) =>
          options.logprobs === true
            ? withTrainedTeam(given, options, (trained) => replayAll(place.run, entries, services, trained))
            : replayAll(place.run, entries, services),
        place.run.directory,
      );
      if (options.json === true) printJson(report);
      else printLines(reportLines(report));
      if (report.differences.length > 0) process.exitCode = exitCodes.failure;
    });
}

interface Report {
  readonly episodes: number;
  readonly jointActions: number;
  readonly differences: readonly Difference[];
  /** Only if requested. */
  readonly logprobs?: { readonly tokens: number; readonly largestDifference: number };
  /** Why replies were taken as recorded; absent: they were read from the tokens. */
  readonly withoutTokens?: string;
}

async function replayAll(
  run: SavedRun,
  entries: readonly EpisodeEntry[],
  services: Services,
  trained?: TrainedTeam,
): Promise<Report> {
  const resolved = trained?.resolved ?? (await resolveRecipe(layoutOf(run.directory).recipe, ["judge=null"]));
  const text = await tokenizersOf(run);
  const settings = settingsOf(resolved, services, text.tokenizers);
  const differences: Difference[] = [];
  let [jointActions, tokens, largest] = [0, 0, 0];
  for await (const stored of readStored(run.directory, entries)) {
    differences.push(...(await replayEpisode(settings(stored), stored.episode)));
    jointActions += stored.episode.nodes.length - 1;
    if (trained === undefined || !playedBy(trained, stored)) continue;
    const compared = await compareLogprobs(trained.engine, stored.episode, (action) =>
      loaded(trained, action),
    );
    tokens += compared.tokens;
    largest = Math.max(largest, compared.largest);
  }
  return {
    episodes: entries.length,
    jointActions,
    differences,
    ...(trained === undefined ? {} : { logprobs: { tokens, largestDifference: largest } }),
    ...(text.problem === undefined ? {} : { withoutTokens: text.problem }),
  };
}

/** The team that played, and the key that the episode's own key derives from. */
function settingsOf(
  { recipe, environment }: ResolvedRecipe,
  services: Services,
  tokenizers: ReplaySetting["tokenizers"],
): (stored: StoredEpisode) => ReplaySetting {
  const teams = new Map(namedTeams(recipe, environment).map(({ name, team }) => [name, team]));
  return ({ entry: { evaluation }, episode }) => {
    const team = teams.get(evaluation?.team ?? "team");
    if (team === undefined) {
      const missing = `the recipe has no team ${evaluation?.team}, which played ${episode.id}`;
      throw new TroupeError("bad_run", `${missing}; was recipe.yaml changed?`);
    }
    const root = rootKey(evaluation === undefined ? recipe.seed : evaluationSeed);
    return { environment, team, root, services, ...(tokenizers === undefined ? {} : { tokenizers }) };
  };
}

/** All policies, or why there are none: models may be gone, or not yet saved. */
async function tokenizersOf(
  run: SavedRun,
): Promise<{ readonly tokenizers?: ReplaySetting["tokenizers"]; readonly problem?: string }> {
  const scratch = await mkdtemp(join(tmpdir(), "troupe-replay-"));
  try {
    const tokenizers: Record<string, ReturnType<typeof loadTokenizer>> = {};
    for (const policy of Object.keys(run.recipe.policies)) {
      const { text, templateVariables } = await weightsOfPolicy(run, policy, scratch);
      tokenizers[policy] = loadTokenizer(text, templateVariables);
    }
    return { tokenizers };
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    return { problem: error.message };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Whether the loaded team played the episode. */
function playedBy({ name }: TrainedTeam, { entry }: StoredEpisode): boolean {
  return (entry.evaluation?.team ?? "team") === name;
}

function loaded({ team, weights }: TrainedTeam, { role }: Action): LoadedPolicy | undefined {
  const member = team.roles.find(({ name }) => name === role);
  return member && { name: member.policy, version: weights[role]?.from?.saved.version ?? 0 };
}

function reportLines({ episodes, jointActions, differences, logprobs, withoutTokens }: Report): string[] {
  const shown = differences.slice(0, mostShown).map(describe);
  const more = differences.length - shown.length;
  const differing = new Set(differences.map(({ episode }) => episode)).size;
  const result =
    differences.length === 0
      ? "no differences"
      : `${differences.length} differences in ${differing} of them, exit code ${exitCodes.failure}`;
  return [
    ...shown,
    ...(more > 0 ? [`… and ${more} more; --json shows all`] : []),
    `replayed ${episodes} episodes with ${jointActions} joint actions: ${result}`,
    ...(withoutTokens === undefined ? [] : [`replies were taken as recorded: ${withoutTokens}`]),
    ...(logprobs === undefined ? [] : [logprobLine(logprobs)]),
  ];
}

function describe({ episode, node, what, seat, recorded, now }: Difference): string {
  const whose = seat === undefined ? what : `${what} of ${seat}`;
  return `${episode}, node ${node || "root"}, ${whose}: recorded ${short(recorded)}, now ${short(now)}`;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

function logprobLine({ tokens, largestDifference }: NonNullable<Report["logprobs"]>): string {
  if (tokens === 0)
    return "log-probabilities: the checkpoint's weights sampled none of these actions; try `--evaluation after`";
  return `log-probabilities of ${tokens} tokens: largest difference ${largestDifference.toPrecision(2)} nats`;
}
