/** `troupe eval RUN|MODEL_DIR`: a team on held-out tasks. */
import { Command } from "commander";
import { TroupeError } from "../errors.ts";
import { didYouMean } from "../nearest.ts";
import { schemaVersion } from "../runs/records.ts";
import type { Evaluation } from "../runs/records.ts";
import { evaluatePolicies } from "../train/evaluate.ts";
import { timed } from "../train/session.ts";
import type { NamedTeam } from "../train/teams.ts";
import { namedTeams } from "../train/teams.ts";
import { showDuration } from "./format.ts";
import { notNegative, wholeNumber } from "./numbers.ts";
import { printJson, printLines } from "./print.ts";
import { resultTable } from "./progress/final.ts";
import { runsFolder } from "./runs.ts";
import type { TrainedTeam } from "./trained-team.ts";
import { findSource, withTrainedTeam } from "./trained-team.ts";

interface EvalArguments {
  readonly recipe?: string;
  readonly runs: string;
  readonly team: string;
  readonly tasks?: number;
  readonly temperature?: number;
  readonly json?: boolean;
}

export function evalCommand(): Command {
  return new Command("eval")
    .description("measure a run's team, or a model in a recipe's team, on held-out tasks")
    .argument("<run-or-model>", "name or folder of a run, or a model directory")
    .option("--recipe <recipe>", "play in this recipe (default: the run's own; needed for a model directory)")
    .option("--team <name>", "`team`, or a name under evaluation.compare", "team")
    .option("--tasks <number>", "how many tasks (default: the recipe's)", wholeNumber(1))
    .option("--temperature <number>", "of sampling (default: the recipe's)", notNegative)
    .option("--runs <folder>", "folder of the runs", runsFolder)
    .option("--json", "print one JSON document")
    .action(async (given: string, options: EvalArguments) => {
      const source = await findSource(given, options.runs, options.recipe);
      await withTrainedTeam(source, (team) => evaluate(team, options));
    });
}

async function evaluate(trained: TrainedTeam, options: EvalArguments): Promise<void> {
  const { resolved, engine, policies, origin } = trained;
  const { name, team } = chosenTeam(namedTeams(resolved.recipe, resolved.environment), options.team);
  const { evaluation } = resolved.recipe;
  const { value, seconds } = await timed(() =>
    evaluatePolicies({
      engine,
      environment: resolved.environment,
      team,
      policies,
      tasks: options.tasks ?? evaluation.tasks,
      temperature: options.temperature ?? evaluation.temperature,
      topP: evaluation.topP,
    }),
  );
  const { scores } = value;
  if (options.json) return printJson({ weights: origin, team: name, ...scores, seconds });
  const row: Evaluation = { schema_version: schemaVersion, step: 0, moment: "after", team: name, ...scores };
  const turns = scores.successByTurn.map((share, turn) => `${turn + 1}: ${(100 * share).toFixed(1)} %`);
  printLines([
    ...resultTable([row], () => name),
    "",
    `solved within turn ${turns.join("   ")}`,
    `weights from ${origin}, ${showDuration(seconds)}`,
  ]);
}

function chosenTeam(teams: readonly NamedTeam[], wanted: string): NamedTeam {
  const found = teams.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  const names = teams.map(({ name }) => name);
  const hint = didYouMean(wanted, names) ?? `there is ${names.join(", ")}`;
  throw new TroupeError("bad_arguments", `the recipe has no team ${wanted}; ${hint}`);
}
