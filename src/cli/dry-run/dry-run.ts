/** `troupe train --dry-run`: the resolved recipe, and what it would take on this machine. Nothing is kept. */
import type { ResolvedRecipe } from "../../recipes/resolve.ts";
import { annotatedYaml } from "../../recipes/write.ts";
import { namedTeams } from "../../train/teams.ts";
import { showBytes, showCount, showDuration, showLarge } from "../format.ts";
import { printJson, printLines } from "../print.ts";
import { tableLines } from "../table.ts";
import type { Calibration } from "./calibrate.ts";
import { calibrate } from "./calibrate.ts";
import type { Estimate } from "./estimate.ts";
import { estimate } from "./estimate.ts";

export async function dryRun(resolved: ResolvedRecipe, json: boolean): Promise<void> {
  const teams = namedTeams(resolved.recipe, resolved.environment);
  const calibration = await calibrate(resolved, teams);
  const stages = estimate(resolved, teams, calibration);
  const seconds = Object.values(stages).reduce((sum, stage) => sum + stage.seconds, 0);
  if (json) return printJson({ recipe: resolved.recipe, stages, seconds, calibration });
  printLines([
    annotatedYaml(resolved.recipe, resolved.originOf),
    ...calibration.policies.map(policyLine),
    "",
    ...stageTable(stages),
    "",
    ...totals(calibration, seconds),
  ]);
}

function policyLine({ name, parameters, trainable }: Calibration["policies"][number]): string {
  const share = trainable === parameters ? "" : `, ${showCount(trainable)} of them trained`;
  return `policy ${name}: ${showCount(parameters)} parameters${share}`;
}

const stageTitles = {
  warmStart: "warm start",
  reinforcement: "reinforcement",
  evaluation: "evaluation",
} as const;

function stageTable(stages: Estimate): string[] {
  const rows = Object.entries(stageTitles).map(([key, title]) => {
    const { actions, promptTokens, actionTokens, seconds } = stages[key as keyof Estimate];
    return [
      title,
      showCount(actions),
      showLarge(promptTokens),
      showLarge(actionTokens),
      showDuration(seconds),
    ];
  });
  const titles = ["actions", "prompt tokens", "action tokens", "time"];
  return tableLines(
    [{ title: "at most" }, ...titles.map((title) => ({ title, align: "right" as const }))],
    rows,
  );
}

function totals({ engine, tokensPerSecond, memory }: Calibration, seconds: number): string[] {
  const { supervised, grouped, sampled } = tokensPerSecond;
  return [
    `about ${showDuration(seconds)} at most, and ${showBytes(memory)} of memory and more for larger batches`,
    `Measured just now with this recipe's models and typical prompts on the ${engine}, in tokens per second:`,
    `${showLarge(supervised)} warm start, ${showLarge(grouped)} training in groups, ${showLarge(sampled)} sampling;`,
    "a group's prompt counts once. Episodes that succeed end early, so the counts are upper bounds.",
    "Nothing was written.",
  ];
}
