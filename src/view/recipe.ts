/** What the viewer reads of a run's recipe. Nothing has checked the file, which may be damaged or of another version. */
import { parse } from "yaml";
import { z } from "zod";
import { TroupeError } from "../errors.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRegular } from "../runs/regular.ts";
import { KeptFile } from "./kept-file.ts";

/** What is something else than it should be counts as absent: the rest of the run can be shown. */
function lenient<Schema extends z.ZodType>(schema: Schema) {
  return schema.optional().catch(undefined);
}

const text = lenient(z.string());
const parts = { name: text, module: text };
const named = lenient(z.object(parts));
const byName = lenient(z.record(z.string(), z.unknown()));
const steps = lenient(z.object({ steps: lenient(z.number()) }));

const partsSchema = z.object({
  name: text,
  seed: lenient(z.number()),
  environment: named,
  algorithm: named,
  judge: named,
  policies: byName,
  team: lenient(z.object({ roles: byName, phases: lenient(z.array(z.array(z.string()))) })),
  warmStart: steps,
  train: steps,
});
export type RecipeParts = z.output<typeof partsSchema>;

export interface ReadRecipe {
  readonly text: string;
  /** All of it, as it is in the file. */
  readonly value: object;
  readonly parts: RecipeParts;
}

/** @throws from `value`: TroupeError `bad_run` if there is none, or it is not YAML */
export function recipeFile(directory: string): KeptFile<ReadRecipe> {
  const { recipe } = layoutOf(directory);
  return new KeptFile(recipe, () => readRecipe(recipe));
}

async function readRecipe(file: string): Promise<ReadRecipe> {
  try {
    const written = (await readRegular(file)).toString("utf8");
    const value: unknown = parse(written, { logLevel: "error" });
    if (typeof value !== "object" || value === null) throw new Error("it holds no recipe");
    return { text: written, value, parts: partsSchema.parse(value) };
  } catch (cause) {
    const problem = `${file} cannot be read as a recipe: ${(cause as Error).message}`;
    throw new TroupeError("bad_run", `${problem}. Restore the file.`, { cause });
  }
}
