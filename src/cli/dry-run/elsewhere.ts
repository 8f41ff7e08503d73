/** The dry run of a recipe that trains elsewhere, or whose models or data are not here: nothing is measured. */
import { planCluster } from "../../cluster/plan.ts";
import type { GpuName } from "../../cluster/gpus.ts";
import { planLines } from "../../cluster/report.ts";
import type { PlannedRecipe } from "../../recipes/resolve.ts";
import { recipeWarnings, showWarning } from "../../recipes/validation/warnings.ts";
import { annotatedYaml } from "../../recipes/write.ts";
import { printJson, printLines } from "../print.ts";

/** `troupe cluster` plans with others. */
const gpu: GpuName = "h100";

export async function dryRunElsewhere(resolved: PlannedRecipe, json: boolean): Promise<void> {
  const plan = await planCluster(resolved, { gpu });
  const { missing } = resolved;
  const warnings = [...recipeWarnings(resolved), ...plan.warnings];
  if (json) return printJson({ recipe: resolved.recipe, warnings, missing, plan });
  printLines([
    annotatedYaml(resolved.recipe, resolved.originOf),
    "",
    ...planLines(plan),
    ...missing.map((each) => `not checked: ${each}`),
    ...warnings.map(showWarning),
    "",
    "No server was asked, and nothing was written.",
  ]);
}
