/**
 * The models that a run starts from, by contents. Its recipe has only their paths: a run that is read from another folder,
 * or resumed after a directory was replaced, would continue with other weights below the same name.
 */
import path from "node:path";
import { TroupeError } from "../errors.ts";
import { differingFile, modelDigests } from "../models/model-digests.ts";
import type { Recipe } from "../recipes/schema.ts";
import { readModels } from "../runs/read.ts";
import type { Run } from "../runs/run.ts";

/** Call once, when the run is open: records models that are not recorded. @throws TroupeError `bad_run` for another one */
export async function noteModels(
  { policies }: Pick<Recipe, "policies">,
  run: Pick<Run, "recordModels" | "layout">,
): Promise<void> {
  const before = (await readModels(run.layout.directory)).at(-1)?.models ?? {};
  const models: Record<string, Readonly<Record<string, string>>> = { ...before };
  for (const [policy, { model }] of Object.entries(policies)) {
    if (!("path" in model)) continue;
    await checkModel(run.layout.directory, policy, model.path);
    models[policy] ??= await modelDigests(path.resolve(model.path));
  }
  await run.recordModels(models);
}

/**
 * Compares the directory with what the run recorded of the policy's model; without a record nothing is known.
 * @throws TroupeError `bad_run` if its contents are others
 */
export async function checkModel(run: string, policy: string, directory: string): Promise<void> {
  const before = (await readModels(run)).at(-1)?.models[policy];
  if (before === undefined) return;
  const file = differingFile(before, await modelDigests(path.resolve(directory)));
  if (file === null) return;
  const problem = `${path.resolve(directory)} is not the model that ${policy} of ${run} started from: ${file} differs`;
  const fix = "put that model there, or run this where the run was trained";
  throw new TroupeError("bad_run", `${problem}; ${fix}.`);
}
