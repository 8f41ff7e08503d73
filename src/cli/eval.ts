/** `troupe eval RUN|MODEL_DIR`: evaluates a team on held-out tasks, with weights of one or several runs. */
import { Command } from "commander";
import { runsFolder } from "../command-line.ts";
import type { Services } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { showDuration, showShare } from "../format.ts";
import type { Recipe } from "../recipes/schema.ts";
import { sampleProblems } from "../recipes/validation/rules/stages.ts";
import { schemaVersion, type Calibration, type Evaluation } from "../runs/records.ts";
import { timed } from "../timed.ts";
import { evaluatePolicies } from "../train/evaluate.ts";
import { retriesOf, limitsOf } from "../train/failures.ts";
import { evaluationJudge } from "../train/judging.ts";
import type { Scores } from "../train/scores.ts";
import { withServices } from "../train/services.ts";
import type { Weights, RoleWeights } from "../train/weights.ts";
import { notNegative, wholeNumber, withOverrideOption, type OverrideOptions } from "./arguments.ts";
import { printJson, printLines } from "./print.ts";
import { tableLines } from "./table.ts";
import { resultTable } from "./train/progress/final.ts";
import { failedNote, serviceNotes } from "./train/progress/lines.ts";
import { withTrainedTeam, type TrainedTeam } from "./trained-team.ts";

interface EvalArguments extends OverrideOptions {
  readonly recipe?: string;
  readonly runs: string;
  readonly team: string;
  readonly policies?: readonly string[];
  readonly split?: string;
  readonly tasks?: number;
  readonly samples?: number;
  readonly passAt?: number[];
  readonly temperature?: number;
  readonly seed?: number;
  readonly json?: boolean;
}

export function evalCommand(): Command {
  return withOverrideOption(new Command("eval"))
    .description("evaluate a run's team, or a model in a recipe's team, on held-out tasks")
    .argument("<run-or-model>", "name or folder of a run, a checkpoint's folder, or a model directory")
    .argument("[key.path=value...]", "overrides of its recipe, `judge.evaluation=true`; later ones win")
    .option(
      "--policies <role=run:name,...>",
      "use other runs' policies, or model directories, for some roles",
      gather,
    )
    .option("--team <name>", "`team`, or a name under evaluation.compare", "team")
    .option(
      "--recipe <recipe>",
      "evaluate in this recipe (default: the run's own; required for a model directory)",
    )
    .option("--split <name>", "validation, heldOut, or another of the environment's (default: the recipe's)")
    .option("--tasks <number>", "number of distinct tasks (default: the recipe's)", wholeNumber(1))
    .option("--samples <number>", "episodes of each task (default: the recipe's)", wholeNumber(1))
    .option(
      "--pass-at <numbers>",
      "the k of pass@k, 1,5,10: at most --samples (default: the recipe's)",
      kList,
    )
    .option("--temperature <number>", "sampling temperature (default: the recipe's)", notNegative)
    .option("--seed <number>", "random seed of sampling; tasks stay the same (default: 0)", wholeNumber(0))
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action((given: string, before: string[], options: EvalArguments) => {
      const overrides = [...before, ...(options.override ?? [])];
      return withTrainedTeam(given, { ...options, overrides }, (team) =>
        withServices((services) => evaluate(team, options, services), team.run ?? undefined),
      );
    });
}

function kList(text: string): number[] {
  return text.split(",").map((k) => wholeNumber(1)(k.trim()));
}

function gather(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function evaluate(trained: TrainedTeam, options: EvalArguments, services: Services): Promise<void> {
  const { resolved, engine, policies, name, team, weights } = trained;
  const { evaluation } = resolved.recipe;
  const { failures } = resolved.recipe;
  const { split = evaluation.split, tasks = evaluation.tasks } = options;
  const { temperature = evaluation.temperature, seed = 0 } = options;
  const { samples = evaluation.samples, passAt = evaluation.passAt } = options;
  checkSamples({ samples, passAt, temperature });
  await using judge = await evaluationJudge(resolved, trained.run);
  const setting = {
    engine,
    services,
    environment: resolved.environment,
    team,
    policies,
    topP: evaluation.topP,
    ...limitsOf(resolved.recipe),
    retries: retriesOf(resolved.recipe),
    failureLimit: failures.limit,
    judging: judge.judging,
  };
  const { value, seconds } = await timed(() =>
    evaluatePolicies({ ...setting, split, tasks, samples, passAt, temperature, seed }),
  );
  const { scores } = value;
  if (options.json) {
    return printJson({ team: name, roles: rolesJson(weights), temperature, seed, ...scores, seconds });
  }
  printLines([
    ...scoreLines(name, scores),
    ...splitNote(split, samples * tasks, value.episodes.length + (scores.failed ?? 0)),
    ...failureLines(scores),
    "",
    ...weightsTable(weights),
    "",
    `took ${showDuration(seconds)}`,
  ]);
}

/** @throws TroupeError `bad_arguments`, with the message of the recipe's check */
function checkSamples(given: Pick<Recipe["evaluation"], "samples" | "passAt" | "temperature">): void {
  const [mistake] = sampleProblems(given);
  if (mistake === undefined) return;
  throw new TroupeError("bad_arguments", `${mistake.problem}; ${mistake.fix}`);
}

function rolesJson(weights: RoleWeights): Record<string, object> {
  const roles = Object.entries(weights).map(([role, { label, place, step }]) => [
    role,
    { weights: label, directory: place, step },
  ]);
  return Object.fromEntries(roles) as Record<string, object>;
}

function weightsTable(weights: RoleWeights): string[] {
  const rows = Object.entries(weights).map(([role, own]) => [role, own.label, savedAt(own), own.place]);
  return tableLines([{ title: "role" }, { title: "weights" }, { title: "saved" }, { title: "in" }], rows);
}

function savedAt({ step, environment }: Weights): string {
  if (step !== null) return `after step ${step}`;
  return environment === null ? "" : "as it began";
}

/** The figures of an evaluation for people. */
function scoreLines(name: string, scores: Scores): string[] {
  const row: Evaluation = { schema_version: schemaVersion, step: 0, moment: "after", team: name, ...scores };
  const turns = scores.successByTurn.map((share, turn) => `${turn + 1}: ${showShare(share)}`);
  return [
    ...resultTable([row], () => name),
    "",
    `solved within turn ${turns.join("   ")}`,
    ...passAtLines(scores),
    ...termLines(scores),
  ];
}

function failureLines({ failed, judged, unjudged, calibration, services }: Scores): string[] {
  return [
    ...(failed === undefined ? [] : [failedNote(failed)]),
    ...(judged === undefined ? [] : [`mean score of the judge ${judged.toFixed(3)}`]),
    ...(unjudged === undefined ? [] : [`verdicts that failed: ${unjudged}`]),
    ...serviceNotes(services),
    ...(calibration === undefined ? [] : calibrationLines(calibration)),
  ];
}

function calibrationLines({ correlation, roles, blame }: Calibration): string[] {
  const each = Object.entries(roles).map(([role, value]) => `${role} ${showCorrelation(value)}`);
  return [
    `rank correlation of scores and outcomes ${showCorrelation(correlation)}: ${each.join("   ")}`,
    ...(blame === undefined ? [] : [`blame the right role: ${blame.correct} of ${blame.named} verdicts`]),
  ];
}

function showCorrelation(value: number | null): string {
  return value === null ? "not defined" : value.toFixed(2);
}

/** @param wanted episodes */
export function splitNote(split: string, wanted: number, played: number): string[] {
  return played < wanted ? [`the split ${split} has no more tasks`] : [];
}

function passAtLines({ passAt = {} }: Scores): string[] {
  return Object.entries(passAt).map(
    ([k, { mean, low, high }]) => `pass@${k} ${showShare(mean)} (${showShare(low)} to ${showShare(high)})`,
  );
}

function termLines({ terms }: Scores): string[] {
  const means = Object.entries(terms?.team ?? {}).map(([name, { mean }]) => `${name} ${mean.toFixed(3)}`);
  return means.length === 0 ? [] : [`terms of the reward: ${means.join("   ")}`];
}
