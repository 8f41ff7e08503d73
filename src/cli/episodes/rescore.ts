/** `troupe rescore RUN`: the credit that another algorithm or judge would give to a run's recorded actions. */
import { Command } from "commander";
import { runsFolder } from "../../command-line.ts";
import type { CreditedAction } from "../../credit/algorithm.ts";
import { TroupeError } from "../../errors.ts";
import { showCount } from "../../format.ts";
import type { ScoreStatistics } from "../../judges/rewards.ts";
import { resolveRecipe, judgeOf, type ResolvedRecipe } from "../../recipes/resolve.ts";
import type { Episode } from "../../rollout/episode.ts";
import { momentOf } from "../../rollout/judging.ts";
import { readStored, type ActionCredit, type StoredEpisode } from "../../rollout/stored.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { layoutOf } from "../../runs/layout.ts";
import { acquireLock } from "../../runs/lock.ts";
import { readMetrics } from "../../runs/read.ts";
import { openRecordedCalls } from "../../runs/recorded-calls.ts";
import { buildTeam } from "../../teams/build.ts";
import { retriesOf } from "../../train/failures.ts";
import { normaliserOf, type Normalise } from "../../train/judging.ts";
import { rescore, type RescoringJudge } from "../../train/replay.ts";
import { findRun } from "../places.ts";
import { printJsonLine, printLines, printNote } from "../print.ts";
import { Comparison, type Rescored } from "./comparison.ts";
import { selectEpisodes, selectionOf, withSelection, type SelectionOptions } from "./selection.ts";

interface RescoreArguments extends SelectionOptions {
  readonly algorithm?: string;
  /** `own`, or settings in YAML. */
  readonly judge?: string;
  readonly runs: string;
  readonly json?: boolean;
}

export function rescoreCommand(): Command {
  const command = new Command("rescore")
    .description(
      "compute returns and advantages of a run's recorded episodes with another algorithm or judge",
    )
    .argument("<run>", "name or folder of a run")
    .argument("[key=value...]", "options of the algorithm, `samples=4`, or of the judge, `judge.as=local`");
  return withSelection(command)
    .option("--algorithm <name>", "default: the run's own, with the options given")
    .option(
      "--judge <settings>",
      "ask a judge for rewards: `own`, that of the run, or `{name: command, run: [node, judge.ts], fills: all}`",
    )
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print a line of JSON for each action")
    .action(async (given: string, changes: string[], options: RescoreArguments) => {
      const directory = await findRun(given, options.runs);
      const overrides = overridesFor(options.algorithm, changes);
      const resolved = await resolveRecipe(layoutOf(directory).recipe, overrides);
      await using judge = await judgeFor(directory, resolved, options.judge, changes);
      const chosen = { ...(isAnyChosen(options) ? {} : { training: true }), ...options };
      const entries = await selectEpisodes(directory, selectionOf(chosen));
      const comparison = new Comparison();
      let isJudged = false;
      for (const batch of batchesOf(entries)) {
        for (const one of await rescoreBatch(directory, batch, resolved, judge)) {
          comparison.add(one);
          isJudged ||= one.verdict !== undefined;
          if (options.json === true) await printJsonLine(one);
        }
      }
      if (judge !== undefined && !isJudged) printNote(unjudged);
      if (options.json === true) return;
      printLines([...comparison.lines(), ...(await notes(directory, entries, resolved))]);
    });
}

/** Otherwise the recorded rewards would look like the verdicts of a judge that agrees with them. */
const unjudged =
  "warning: no action got a verdict. With `fills: missing`, the default, a judge is asked only where the environment gave no reward; `fills: all` judges every action";

/** Evaluations play each task once, so most algorithms have nothing to compare. */
function isAnyChosen({ evaluation, team, episode }: SelectionOptions): boolean {
  return evaluation !== undefined || team !== undefined || episode !== undefined;
}

function overridesFor(algorithm: string | undefined, changes: readonly string[]): string[] {
  const given = changes.filter((change) => !isOfJudge(change)).map(ofAlgorithm);
  const naming = "algorithm.name=";
  const named = given.findLast((change) => change.startsWith(naming))?.slice(naming.length);
  const other = algorithm ?? named;
  return [
    // The environment's program may be gone.
    "judge=null",
    // Another algorithm has other options.
    ...(other === undefined ? [] : ["algorithm=null", `algorithm={name: ${other}}`]),
    ...given.filter((change) => !change.startsWith(naming)),
  ];
}

/** Also as recipes write it, `algorithm.samples=4`. */
function ofAlgorithm(change: string): string {
  return change.startsWith("algorithm.") ? change : `algorithm.${change}`;
}

/** What is credited together: a step, or an evaluation of a team. */
function batchesOf(entries: readonly EpisodeEntry[]): EpisodeEntry[][] {
  return [
    ...Map.groupBy(entries, ({ step, evaluation }) => JSON.stringify([step, evaluation?.team])).values(),
  ];
}

async function rescoreBatch(
  directory: string,
  entries: readonly EpisodeEntry[],
  { algorithm }: ResolvedRecipe,
  judge: OpenedJudge | undefined,
): Promise<Rescored[]> {
  const stored: StoredEpisode[] = [];
  for await (const one of readStored(directory, entries)) stored.push(one);
  const recorded = new Map(stored.map(({ episode, credit }) => [episode.id, creditById(credit ?? [])]));
  const credited = await rescore(
    stored.map(({ episode }) => episode),
    {
      algorithm,
      ...(judge === undefined ? {} : { judge: judge.forEpisodes(entries[0]?.evaluation === undefined) }),
    },
  );
  return credited.filter(({ action }) => !action.frozen).map((one) => rescored(one, recorded));
}

type CreditById = ReadonlyMap<string, ActionCredit>;

function creditById(credit: readonly ActionCredit[]): CreditById {
  return new Map(credit.map((one) => [one.action, one]));
}

function rescored(
  { episode, node, action, group, return: returned, advantage }: CreditedAction,
  recorded: ReadonlyMap<Episode["id"], CreditById>,
): Rescored {
  const before = recorded.get(episode.id)?.get(action.id);
  const verdict = node.actions.find((edge) => edge.action === action.id)?.verdict;
  return {
    episode: episode.id,
    action: action.id,
    role: action.role,
    turn: action.turn,
    recorded:
      before === undefined
        ? null
        : { return: before.return, advantage: before.advantage, group: before.group },
    now: { return: returned, advantage, group },
    ...(verdict === undefined ? {} : { verdict }),
  };
}

/** If part of a batch is not recorded, whatever is computed over the whole batch changes. */
async function notes(
  directory: string,
  entries: readonly EpisodeEntry[],
  { algorithm }: ResolvedRecipe,
): Promise<string[]> {
  if (algorithm.whitening === null && algorithm.grouping.spans === undefined) return [];
  const sampled = new Map(
    (await readMetrics(directory)).map(({ step, rollout }) => [step, rollout?.episodes ?? 0]),
  );
  const missing = batchesOf(entries).filter(([first, ...rest]) => {
    if (first === undefined || first.evaluation !== undefined) return false;
    return rest.length + 1 < (sampled.get(first.step) ?? 0);
  });
  if (missing.length === 0) return [];
  const steps = `${showCount(missing.length)} ${missing.length === 1 ? "step" : "steps"}`;
  return [
    "",
    `${algorithm.name} compares all actions of a step, and of ${steps} the run keeps some episodes only: ` +
      "its advantages differ. `record.training.perStep: all` keeps all of them.",
  ];
}

export interface OpenedJudge extends AsyncDisposable {
  /** @param isTraining whether these are training episodes, whose scores may be normalised, in the order of the steps */
  readonly forEpisodes: (isTraining: boolean) => RescoringJudge;
}

/** The run's own judge, instead of settings. */
const ownJudge = "own";

/** Whether `key=value` is an option of the judge. */
function isOfJudge(change: string): boolean {
  return change.startsWith("judge.");
}

/**
 * Takes the run's lock, so that new verdicts are recorded with those of training. The run's own judge may have lost its
 * program.
 * @param settings `own`, or settings in YAML; undefined: no judge, or `own` if there are changes
 * @throws TroupeError `in_use` if a process is writing the run, `bad_arguments` if it has no judge of its own
 */
async function judgeFor(
  directory: string,
  { recipe, environment }: Pick<ResolvedRecipe, "recipe" | "environment">,
  settings: string | undefined,
  changes: readonly string[],
): Promise<OpenedJudge | undefined> {
  const options = changes.filter(isOfJudge);
  if (settings === undefined && options.length === 0) return undefined;
  const { recipe: file, verdicts } = layoutOf(directory);
  const given = settings === undefined || settings === ownJudge ? [] : ["judge=null", `judge=${settings}`];
  const judge = await judgeOf(file, [...given, ...options]);
  if (judge === undefined) {
    const fix = "give its settings, `--judge '{name: command, run: [node, judge.ts]}'`";
    throw new TroupeError("bad_arguments", `the run has no judge of its own; ${fix}`);
  }
  const { algorithm } = await resolveRecipe(file, ["judge=null"]);
  const wasAskedAtOnce = momentOf(judge, algorithm.sampling) === "action";
  const lock = await acquireLock(directory);
  const calls = await openRecordedCalls(verdicts);
  const opened = judge.open({
    environment,
    team: buildTeam(recipe.team, environment),
    calls,
    retries: retriesOf(recipe),
  });
  const normalised = normalisedBy(normaliserOf(judge, { environment, retries: retriesOf(recipe) }));
  return {
    forEpisodes: (isTraining) => ({
      judge: opened,
      use: judge,
      knowsEnds: !wasAskedAtOnce,
      ...(isTraining && normalised !== null ? { normalised } : {}),
    }),
    [Symbol.asyncDispose]: async () => {
      await opened.close();
      await lock.release();
    },
  };
}

/** Remembers the scores of earlier steps, as a training does. */
function normalisedBy(normalise: Normalise | null): RescoringJudge["normalised"] | null {
  if (normalise === null) return null;
  let before: ScoreStatistics = {};
  return async (episodes) => {
    const { episodes: scaled, statistics } = await normalise(episodes, before);
    before = statistics;
    return scaled;
  };
}
