/** Options that select recorded episodes of a run. */
import { Option, type Command } from "commander";
import { TroupeError } from "../../errors.ts";
import { isSelected, type EpisodeSelection } from "../../rollout/stored.ts";
import type { EpisodeEntry } from "../../runs/episode-entries.ts";
import { readEpisodeIndex } from "../../runs/read-episodes.ts";
import { wholeNumber } from "../arguments.ts";

export interface SelectionOptions {
  readonly step?: number;
  readonly training?: boolean;
  readonly evaluation?: "before" | "during" | "after" | true;
  readonly team?: string;
  readonly episode?: string;
}

export function withSelection(command: Command): Command {
  return command
    .option("--step <number>", "episodes sampled in this step, or evaluated after it", wholeNumber(0))
    .option("--training", "episodes of training only")
    .addOption(
      new Option(
        "--evaluation [moment]",
        "episodes of evaluations only, or of those before, during or after training",
      )
        .choices(["before", "during", "after"])
        .conflicts("training"),
    )
    .option("--team <name>", "of evaluations: this team's")
    .option("--episode <id>", "this one, such as train/12/3");
}

export function selectionOf({
  step,
  training,
  evaluation,
  team,
  episode,
}: SelectionOptions): EpisodeSelection {
  const isEvaluation = evaluation !== undefined || team !== undefined;
  return {
    ...(step === undefined ? {} : { step }),
    ...(isEvaluation ? { from: "evaluations" } : training === true ? { from: "training" } : {}),
    ...(evaluation === undefined || evaluation === true ? {} : { moment: evaluation }),
    ...(team === undefined ? {} : { team }),
    ...(episode === undefined ? {} : { id: episode }),
  };
}

/** @throws TroupeError `bad_arguments` if the run keeps no such episode */
export async function selectEpisodes(
  directory: string,
  selection: EpisodeSelection,
): Promise<EpisodeEntry[]> {
  const all = await readEpisodeIndex(directory);
  const found = all.filter((entry) => isSelected(entry, selection));
  if (found.length > 0) return found;
  throw new TroupeError("bad_arguments", `${directory} keeps no such episode; ${whatThereIs(all)}`);
}

function whatThereIs(all: readonly EpisodeEntry[]): string {
  if (all.length === 0) return "it keeps none: `record` in its recipe says which are kept";
  const steps = all.filter(({ evaluation }) => evaluation === undefined).map(({ step }) => step);
  const teams = new Set(all.flatMap(({ evaluation }) => evaluation?.team ?? []));
  const evaluated = new Set(all.flatMap(({ step, evaluation }) => (evaluation === undefined ? [] : [step])));
  return [
    ...(steps.length === 0 ? [] : [`it keeps episodes of the steps ${steps[0]} to ${steps.at(-1)}`]),
    ...(teams.size === 0
      ? []
      : [`evaluations of ${[...teams].join(", ")} after the steps ${[...evaluated].join(", ")}`]),
  ].join(" and ");
}
