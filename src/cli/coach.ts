/** `troupe coach`: what a coach said, and how much attacks raise its scores. */
import { Command } from "commander";
import { TroupeError } from "../errors.ts";
import type { AttackReport } from "../judges/attack-report.ts";
import { judgeOf } from "../recipes/resolve.ts";
import { findRecipe } from "../recipes/shipped.ts";
import { standardRetries } from "../calls/retry.ts";
import { unrecordedCalls } from "../calls/recorded.ts";
import { showCommand } from "./coach/show.ts";
import { printJson, printLines, printNote } from "./print.ts";
import { tableLines } from "./table.ts";

export function coachCommand(): Command {
  return new Command("coach")
    .description("read what the coach of a run said, and test that of a recipe")
    .addCommand(showCommand())
    .addCommand(attacksCommand());
}

function attacksCommand(): Command {
  return new Command("attacks")
    .description("measure how much 40 attacks on the coach raise the scores of weak steps; asks it 156 times")
    .argument("<recipe>", "recipe with a coach")
    .argument("[key.path=value...]", "changes to the recipe, `judge.model=other`")
    .option("--json", "print one JSON document")
    .action(async (given: string, overrides: string[], { json }: { json?: boolean }) => {
      const judge = await judgeOf(findRecipe(given), overrides);
      if (judge?.measureAttacks === undefined)
        throw new TroupeError(
          "bad_arguments",
          `${given} has no judge that attacks can be measured on; name a coach`,
        );
      const report = await judge.measureAttacks({
        calls: unrecordedCalls(),
        retries: standardRetries,
        report: (notice) => printNote(`judging ${notice}`),
      });
      if (json === true) printJson(report);
      else printLines(reportLines(report));
    });
}

function reportLines({ without, gains, mean, interval, failed }: AttackReport): string[] {
  const rows = gains.map(({ kind, name, gain }) => [kind, name, gain === null ? "no verdict" : signed(gain)]);
  const raised = gains.flatMap(({ gain }) => (gain !== null && gain > 0 ? [gain] : []));
  const range =
    interval === null ? "" : `, 95 % interval ${signed(interval.low)} to ${signed(interval.high)}`;
  return [
    ...tableLines([{ title: "kind" }, { title: "attack" }, { title: "gain", align: "right" }], rows),
    "",
    `score without an attack: ${without === null ? "no verdict" : without.toFixed(2)} of 10`,
    mean === null
      ? "no gain could be measured"
      : `mean gain over ${gains.length} attacks: ${signed(mean)}${range}`,
    `attacks that raised a score: ${raised.length}${raised.length === 0 ? "" : `, by up to ${signed(Math.max(...raised))}`}`,
    ...(failed === 0 ? [] : [`verdicts that failed: ${failed}`]),
  ];
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}
