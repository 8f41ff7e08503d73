/** `troupe audit RUN…`: continues recorded decisions and compares their true values with the credit that they were given. */
import { basename, isAbsolute, resolve } from "node:path";
import { Command } from "commander";
import { auditRun, chooseStep, type AuditSetting } from "../audit/audit.ts";
import { agreementTable, factsOf, writeAudit } from "../audit/report.ts";
import { auditVersion, type AuditedRun } from "../audit/records.ts";
import { runsFolder, shellWord } from "../command-line.ts";
import { exitInterrupted } from "../engines/interrupts.ts";
import { TroupeError } from "../errors.ts";
import { showCount, showDuration } from "../format.ts";
import { checkpointSteps } from "../runs/checkpoints.ts";
import { makeDirectory } from "../runs/durable.ts";
import { layoutOf } from "../runs/layout.ts";
import { readEpisodeIndex } from "../runs/read-episodes.ts";
import { withServices } from "../train/services.ts";
import { openSavedRun, type SavedRun } from "../train/weights.ts";
import { wholeNumber } from "./arguments.ts";
import { exitCodes, listenForStop } from "./exit.ts";
import { findPlace } from "./places.ts";
import { printJson, printLines, printNote } from "./print.ts";
import { tableLines, terminalWidth } from "./table.ts";
import { withTrainedTeam } from "./trained-team.ts";

interface AuditArguments extends Pick<AuditSetting, "decisions" | "continuations" | "episodes" | "seed"> {
  readonly step?: number;
  readonly runs: string;
  readonly out?: string;
  readonly json?: boolean;
}

export function auditCommand(): Command {
  return new Command("audit")
    .description("measure how well the credit of recorded actions agrees with their true values")
    .argument("<run...>", "names or folders of runs, or folders of their checkpoints")
    .option(
      "--step <number>",
      "audit the training episodes of this step (default: the newest that follows a checkpoint)",
      wholeNumber(1),
    )
    .option("--decisions <number>", "most decisions, spread over roles and turns", wholeNumber(1), 100)
    .option("--continuations <number>", "episodes played from each candidate", wholeNumber(2), 16)
    .option(
      "--episodes <number>",
      "most episodes played in all: fewer decisions are audited (default: any number)",
      wholeNumber(2),
    )
    .option("--seed <number>", "random seed of the sample and the continuations", wholeNumber(0), 0)
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--out <folder>", "also write audit.md, audit.html and audit.json there")
    .option("--json", "print one JSON document")
    .action(async (given: string[], options: AuditArguments) => {
      if (options.out !== undefined) await makeDirectory(options.out, "");
      const runs = await auditAll(given, options);
      const record = { schema_version: auditVersion, command: commandOf(given, options), runs } as const;
      // Before anything is written: what took minutes to compute is not lost with a full disk.
      if (options.json === true) printJson(record);
      else printLines(runs.flatMap((run) => auditLines(run, terminalWidth())));
      const written = options.out === undefined ? [] : await writeAudit(record, options.out, "audit");
      if (options.json !== true) printLines(written.map((file) => `wrote ${file}`));
    });
}

/** What is audited of a run. */
interface Chosen {
  readonly run: SavedRun;
  readonly step: number;
  /** The folder of the checkpoint that its decisions are continued with. */
  readonly checkpoint: string;
}

async function auditAll(given: readonly string[], options: AuditArguments): Promise<AuditedRun[]> {
  using _ = listenForStop(() => {
    printNote("Stopped; nothing was written.");
    exitInterrupted(exitCodes.interrupted);
  });
  // Of a run that is given twice, by its name and its folder, too.
  const different = new Map<string, Chosen>();
  for (const one of given) {
    const chosen = await choose(one, options);
    different.set(`${resolve(chosen.checkpoint)} ${chosen.step}`, chosen);
  }
  const runs: AuditedRun[] = [];
  for (const chosen of different.values()) runs.push(await audited(chosen, options));
  return runs;
}

async function audited({ run, step, checkpoint }: Chosen, options: AuditArguments): Promise<AuditedRun> {
  const choice = { runs: options.runs, overrides: ["judge=null"] };
  return withTrainedTeam(checkpoint, choice, (trained) =>
    withServices(
      (services) =>
        auditRun({
          ...trained,
          run,
          services,
          versionOf: (role) => trained.weights[role]?.from?.saved.version,
          step,
          decisions: options.decisions,
          continuations: options.continuations,
          seed: options.seed,
          episodes: options.episodes,
          ...progressOf(run.name),
        }),
      run.directory,
    ),
  );
}

async function choose(given: string, { runs, step: wanted }: AuditArguments): Promise<Chosen> {
  const place = await findPlace(given, runs);
  if (place.kind !== "run")
    throw new TroupeError("bad_arguments", `${given} is not a run: it has no episodes to audit`);
  const { run } = place;
  const { checkpoints } = layoutOf(run.directory);
  const entries = await readEpisodeIndex(run.directory);
  const steps = new Set(entries.filter(({ evaluation }) => evaluation === undefined).map(({ step }) => step));
  const recorded = [...steps].filter((step) => wanted === undefined || step === wanted);
  const isGiven = run.checkpoint !== null && basename(given) === basename(run.checkpoint.directory);
  const saved = isGiven ? [run.checkpoint.state.step] : await checkpointSteps(checkpoints);
  const chosen = chooseStep(recorded, saved);
  if (chosen !== null) {
    const checkpoint = `${checkpoints}/step-${chosen.checkpoint}`;
    return { run: await openSavedRun(run.directory, checkpoint), step: chosen.step, checkpoint };
  }
  const problem =
    saved.length === 0
      ? "has no checkpoint to continue with"
      : `keeps no training episodes${wanted === undefined ? "" : ` of step ${wanted}`} that follow a checkpoint`;
  const [first] = steps;
  const kept =
    first === undefined
      ? "no training episodes"
      : `those of ${steps.size} steps from ${first} to ${Math.max(...steps)}`;
  throw new TroupeError(
    "bad_arguments",
    `${run.directory} ${problem}; it keeps ${kept}. \`record.training.perStep: all\` in its recipe keeps all, and ` +
      "`checkpoint.every` and `checkpoint.keep` say which checkpoints stay.",
  );
}

/** Milliseconds until the first estimate of the time, and between lines. */
const [firstPause, pause] = [3000, 10_000];

/** What will be played, and from the first continuations on how long that takes. */
function progressOf(run: string): Pick<AuditSetting, "onStart" | "onProgress"> {
  let [began, next] = [0, 0];
  return {
    onStart: ({ decisions, candidates, continuations }) => {
      began = performance.now();
      next = began + firstPause;
      const parts = `${counted(decisions, "decision")}, ${counted(candidates, "different candidate")}, ${continuations} continuations of each`;
      printNote(`${run}: ${parts}: ${showCount(candidates * continuations)} episodes`);
    },
    onProgress: (done, of) => {
      const now = performance.now();
      if (now < next) return;
      next = now + pause;
      const left = ((now - began) / 1000 / done) * (of - done);
      printNote(`${run}: ${showCount(done)} of ${showCount(of)} episodes, about ${showDuration(left)} left`);
    },
  };
}

function counted(count: number, what: string): string {
  return `${showCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** Columns of the table that a narrow terminal leaves out, in this order: the others say whether the credit is right. */
const leastNeeded = ["worth of a unit", "right sign", "Kendall's τ"];

/** @param width of the terminal */
export function auditLines(run: AuditedRun, width: number): string[] {
  const { titles, rows } = agreementTable(run);
  const columns = titles.map((title) => {
    const place = leastNeeded.indexOf(title);
    return place === -1 ? { title } : { title, leftOut: place };
  });
  const table = tableLines(columns, rows, width);
  const missing = leastNeeded.filter((title) => table[0]?.includes(title) !== true).length;
  const count = missing === 1 ? "1 column" : `${missing} columns`;
  const note = `${count} left out: a wider terminal, --json or --out shows ${missing === 1 ? "it" : "them"}`;
  return [run.run, ...factsOf(run), "", ...table, ...(missing === 0 ? [] : [note]), ""];
}

/** The command that makes the report, without folders of this machine. */
function commandOf(given: readonly string[], options: AuditArguments): string {
  const { step, decisions, continuations, episodes, seed, out } = options;
  const places = given.map((one) => shellWord(isAbsolute(one) ? basename(one) : one));
  const folder = out === undefined ? undefined : isAbsolute(out) ? basename(out) : out;
  const chosen = Object.entries({ step, decisions, continuations, episodes, seed, out: folder }).flatMap(
    ([name, value]) => (value === undefined ? [] : [`--${name}`, shellWord(String(value))]),
  );
  return ["troupe audit", ...places, ...chosen].join(" ");
}
