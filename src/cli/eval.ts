/** `troupe eval RUN|MODEL_DIR`: evaluates a team on held-out tasks, with weights of one or several runs. */
import { Command } from "commander";
import { runsFolder } from "../command-line.ts";
import type { Services } from "../environments/environment.ts";
import { TroupeError } from "../errors.ts";
import { showDuration } from "../format.ts";
import type { Recipe } from "../recipes/schema.ts";
import { sampleProblems } from "../recipes/validation/rules/stages.ts";
import type { Weights, RoleWeights } from "../train/weights.ts";
import { evaluatePolicies } from "../train/evaluate.ts";
import { evaluationJudge } from "../train/judging.ts";
import { retriesOf, limitsOf } from "../train/failures.ts";
import { timed } from "../timed.ts";
import { withServices } from "../train/services.ts";
import { notNegative, wholeNumber } from "./numbers.ts";
import { printJson, printLines } from "./print.ts";
import { withOverrideOption, type OverrideOptions } from "./recipe-arguments.ts";
import { failureLines, scoreLines, splitNote } from "./score-lines.ts";
import { tableLines } from "./table.ts";
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
