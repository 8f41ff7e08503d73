/**
 * What a run depends on besides its recipe: data, engine, modules, models. It is recorded in the run's folder and compared
 * when the run is resumed. Other models are an error; other data, modules and engines are reported, and the run continues.
 */
import path from "node:path";
import type { Engine } from "../engines/engine.ts";
import type { Environment } from "../environments/environment.ts";
import { checkModel, modelDigests, type ModelDigests } from "../models/model-digests.ts";
import { changedModules, moduleHashes } from "../recipes/write.ts";
import type { Recipe } from "../recipes/schema.ts";
import { recipeWarnings } from "../recipes/validation/warnings.ts";
import type { Warning } from "../recipes/validation/warnings.ts";
import type { DataOrigin } from "../runs/input-records.ts";
import { readModels, readRecipe } from "../runs/read.ts";
import type { Run as RunFolder } from "../runs/run.ts";
import type { TrainEvent } from "./events.ts";
import type { OpenPolicies } from "./policies.ts";
import type { Resolved, Run } from "./state.ts";

/** Call once, when the run is open: emits warnings. @throws TroupeError `bad_run` for another model */
export async function noteInputs(resolved: Resolved, run: Run): Promise<void> {
  const { recipe, environment, stage, folder, emit } = run;
  const changed = changedModules(await readRecipe(folder.layout.directory), recipe);
  const warnings = [
    ...recipeWarnings(resolved),
    ...changed,
    ...uncheckedTokenizers(stage.policies),
    ...(await noteData(environment, folder)),
    ...startsAgain(folder),
  ];
  for (const warning of warnings) emit({ type: "warning", ...warning });
  await noteEngine(run);
  await folder.recordModules(moduleHashes(recipe));
  await noteModels(recipe, folder);
}

function uncheckedTokenizers(policies: OpenPolicies): readonly Warning[] {
  return Object.entries(policies).flatMap(([name, { info }]) => {
    const { uncheckedTokenizer: problem } = info;
    const fix = "use the tokenizer files that the server's model came with";
    return problem === undefined ? [] : [{ key: `policies.${name}.model`, problem, fix }];
  });
}

/** A run that was interrupted before its first checkpoint, or whose checkpoints were deleted. */
function startsAgain({ checkpoint, repeated, layout }: RunFolder): readonly Warning[] {
  if (checkpoint !== null || repeated === 0) return [];
  const steps = repeated === 1 ? "the recorded step is" : `the ${repeated} recorded steps are`;
  const problem = `${layout.checkpoints} has no checkpoint, so the run starts again and ${steps} repeated`;
  return [{ key: "checkpoint.every", problem, fix: "restore the folder if it was deleted" }];
}

/** @returns a warning for each split with other tasks than before */
async function noteData(
  { data = {} }: Pick<Environment, "data">,
  folder: Pick<RunFolder, "recordData">,
): Promise<readonly Warning[]> {
  const before = await folder.recordData(data);
  if (before === null) return [];
  return Object.entries(before).flatMap(([split, was]) => {
    const is = data[split];
    if (is === undefined || is.digest === was.digest) return [];
    const problem = `the tasks of ${split} have changed since the run started (${showOrigin(was)}, now ${showOrigin(is)})`;
    const fix =
      "results before and after the change may not be comparable; restore the data set, or start a new run";
    return [{ key: "environment.dataset", problem, fix }];
  });
}

function showOrigin({ commit, problems, digest }: DataOrigin): string {
  const at = commit === null ? "" : `commit ${commit.slice(0, 12)}, `;
  return `${at}${problems} problems, content hash ${digest.slice(0, 12)}`;
}

/**
 * A run resumed on another machine, with another number of threads or another native build may have results that differ
 * in the last bits.
 */
async function noteEngine({ engine, folder, step, emit }: Run): Promise<void> {
  const { description, arithmetic } = engine;
  const before = await folder.recordEngine({ engine: description, arithmetic });
  if (before === null) return;
  emit({ type: "engine-changed", step, changes: changesBetween(before.arithmetic, arithmetic) });
}

/** What determines the bits, where it differs. */
type Changes = Extract<TrainEvent, { type: "engine-changed" }>["changes"];

function changesBetween(before: Engine["arithmetic"], now: Engine["arithmetic"]): Changes {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const unknown = "unknown";
  return names
    .map((name) => ({ name, before: before[name] ?? unknown, now: now[name] ?? unknown }))
    .filter((change) => change.before !== change.now);
}

/** Models are recorded by contents (models/model-digests.ts). Records models that are not recorded. @throws TroupeError `bad_run` for another one */
export async function noteModels(
  { policies }: Pick<Recipe, "policies">,
  folder: Pick<RunFolder, "recordModels" | "layout">,
): Promise<void> {
  const { directory } = folder.layout;
  const models: Record<string, ModelDigests> = { ...(await readModels(directory)).at(-1)?.models };
  for (const [policy, { model }] of Object.entries(policies)) {
    if (!("path" in model)) continue;
    await checkModel(directory, policy, model.path);
    models[policy] ??= await modelDigests(path.resolve(model.path));
  }
  await folder.recordModels(models);
}
