/** Resolves the paths of policies' model directories. */
import { isPresentSync } from "../present.ts";
import { checkModel } from "../models/model-digests.ts";
import { runThatSets, seenFromHere } from "./places.ts";
import type { Recipe } from "./schema.ts";
import type { MappingTree, Path } from "./tree.ts";

type Plain = Readonly<Record<string, unknown>>;

/** The recipe with the paths of models seen from the working directory (`seenFromHere`). */
export function withModelPlaces(plain: Plain, tree: MappingTree): Plain {
  const { policies } = plain;
  if (!isMapping(policies)) return plain;
  const found = Object.entries(policies).map(([name, policy]) => {
    if (!isMapping(policy) || !isMapping(policy["model"])) return [name, policy];
    const { path } = policy["model"];
    if (typeof path !== "string") return [name, policy];
    const at = ["policies", name, "model", "path"];
    return [name, { ...policy, model: { ...policy["model"], path: placed(tree, at, path) } }];
  });
  return { ...plain, policies: Object.fromEntries(found) as Plain };
}

/** @throws TroupeError `bad_run` if a path in a run's recipe leads to another model than the run's */
export async function checkModelsOfRun(
  { policies }: Pick<Recipe, "policies">,
  tree: MappingTree,
): Promise<void> {
  for (const [name, { model }] of Object.entries(policies)) {
    if (!("path" in model) || !isPresentSync(model.path)) continue;
    const run = runThatSets(tree, ["policies", name, "model", "path"]);
    if (run !== null) await checkModel(run, name, model.path);
  }
}

/** Names that mean something elsewhere stay as they are, for messages. */
function placed(tree: MappingTree, at: Path, path: string): string {
  if (isAddress(path)) return path;
  const place = seenFromHere(tree, at, path);
  return isHubName(path) && !isPresentSync(place) ? path : place;
}

/** `Qwen/Qwen2.5-0.5B-Instruct`, which may also be a folder. */
export function isHubName(path: string): boolean {
  return /^(?!models\/)\w[\w.-]*\/\w[\w.-]*$/.test(path);
}

export function isAddress(path: string): boolean {
  return /^[a-z][a-z+.-]*:\/\//i.test(path);
}

function isMapping(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
