/** The recipe of a run, as its folder keeps it. */
import { resolve } from "node:path";
import { z } from "zod";
import { layoutOf } from "../runs/layout.ts";
import { isPresent } from "../present.ts";
import { readRecipe } from "../runs/read.ts";
import { projectOf } from "./places.ts";
import type { Recipe } from "./schema.ts";
import { recipeToYaml } from "./write.ts";

/** Model directories that an existing run has keep their names there, which are as seen from where it was begun. */
export async function yamlOfRun(recipe: Recipe, directory: string): Promise<string> {
  const isBegun = await isPresent(layoutOf(directory).recipe);
  const before = isBegun ? namedModels.safeParse(await readRecipe(directory)).data : undefined;
  const policies = Object.entries(recipe.policies).map(([name, policy]) => {
    const was = before?.policies[name]?.model?.path;
    const isSame =
      was !== undefined &&
      "path" in policy.model &&
      resolve(projectOf(directory, was), was) === resolve(policy.model.path);
    return [name, isSame ? { ...policy, model: { ...policy.model, path: was } } : policy] as const;
  });
  return recipeToYaml({ ...recipe, policies: Object.fromEntries(policies) }, directory);
}

const namedModels = z.object({
  policies: z.record(z.string(), z.object({ model: z.object({ path: z.string().optional() }).optional() })),
});
