/** The models that a run starts from are recorded by contents, and compared when it is resumed (models/model-digests.ts). */
import path from "node:path";
import { checkModel, modelDigests, type ModelDigests } from "../models/model-digests.ts";
import type { Recipe } from "../recipes/schema.ts";
import { readModels } from "../runs/read.ts";
import type { Run } from "../runs/run.ts";

/** Call once, when the run is open: records models that are not recorded. @throws TroupeError `bad_run` for another one */
export async function noteModels(
  { policies }: Pick<Recipe, "policies">,
  run: Pick<Run, "recordModels" | "layout">,
): Promise<void> {
  const { directory } = run.layout;
  const models: Record<string, ModelDigests> = { ...(await readModels(directory)).at(-1)?.models };
  for (const [policy, { model }] of Object.entries(policies)) {
    if (!("path" in model)) continue;
    await checkModel(directory, policy, model.path);
    models[policy] ??= await modelDigests(path.resolve(model.path));
  }
  await run.recordModels(models);
}
