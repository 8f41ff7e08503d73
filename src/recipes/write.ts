/** A resolved recipe as YAML, for a run folder or `--dry-run`; the recipe that a run's folder keeps; how two recipes differ. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Document, isMap, isScalar, visit, type Node } from "yaml";
import { z } from "zod";
import { isPresentSync, isPresent } from "../present.ts";
import { layoutOf } from "../runs/layout.ts";
import { readRecipe } from "../runs/read.ts";
import { judgeRow } from "./catalog.ts";
import { moduleAt, moduleKeys } from "./choice.ts";
import { projectOf } from "./places.ts";
import type { Recipe } from "./schema.ts";
import { showKey, type Path } from "./tree.ts";
import type { Warning } from "./validation/warnings.ts";

/**
 * The recipe with all defaults. Reading it again gives the same recipe.
 * @param folder that paths of modules and of a judge's working directory are written relative to, so that a project can
 * be moved as a whole
 */
export function recipeToYaml(recipe: Recipe, folder: string): string {
  const { environment, algorithm, judge, engine } = recipe;
  const moved = {
    ...recipe,
    environment: seenFrom(folder, "module", environment),
    algorithm: seenFrom(folder, "module", algorithm),
    engine: seenFrom(folder, "module", engine),
    ...(judge === undefined ? {} : { judge: seenFrom(folder, judgeRow(judge)?.folder?.option, judge) }),
  };
  return documentOf(moved).toString({ lineWidth: 0 });
}

function seenFrom<Settings extends Readonly<Record<string, unknown>>>(
  folder: string,
  key: string | undefined,
  settings: Settings,
): Settings {
  if (key === undefined) return settings;
  const place = settings[key];
  if (typeof place !== "string") return settings;
  const way = relative(realPath(folder), realPath(place)).replaceAll(sep, "/");
  return { ...settings, [key]: /^\.|^[A-Za-z]:/.test(way) ? way : `./${way}` };
}

/** The real path of the nearest existing folder, with the rest appended. */
function realPath(place: string): string {
  const whole = resolve(place);
  if (isPresentSync(whole)) return realpathSync(whole);
  return join(realPath(dirname(whole)), basename(whole));
}

/** The same with the origin of every value as a trailing comment. */
export function annotatedYaml(recipe: Recipe, originOf: (path: Path) => string): string {
  const document = documentOf(recipe);
  annotate(document.contents, [], originOf);
  return document.toString({ lineWidth: 0 });
}

function documentOf(recipe: Recipe): Document {
  const document = new Document(recipe, { aliasDuplicateObjects: false });
  visit(document, {
    // Lists of plain values are written on one line: phases, stop strings, target modules.
    Seq: (_, node) => {
      node.flow = true;
    },
    Map: (_, node) => {
      node.flow = node.items.length === 0;
    },
  });
  return document;
}

function annotate(node: unknown, path: Path, originOf: (path: Path) => string): void {
  if (!isMap(node)) return;
  for (const { key, value } of node.items) {
    const inner = [...path, String(isScalar(key) ? key.value : key)];
    if (isMap(value) && value.items.length > 0) annotate(value, inner, originOf);
    else if (!isMap(value) && value !== null) (value as Node).comment = ` ${originOf(inner)}`;
  }
}

/** Places that an existing run has keep their names there, which are as seen from where it was begun. */
export async function yamlOfRun(recipe: Recipe, directory: string): Promise<string> {
  const isBegun = await isPresent(layoutOf(directory).recipe);
  const before = isBegun ? namedPlaces.safeParse(await readRecipe(directory)).data : undefined;
  const named = <Value>(now: Value, was: unknown): Value =>
    typeof now === "string" && typeof was === "string" && isSamePlace(directory, was, now)
      ? (was as Value)
      : now;
  const policies = Object.entries(recipe.policies).map(([name, policy]) => {
    if (!("path" in policy.model)) return [name, policy] as const;
    const was = before?.policies[name]?.model?.path;
    return [name, { ...policy, model: { ...policy.model, path: named(policy.model.path, was) } }] as const;
  });
  const environment = Object.entries(recipe.environment).map(([option, now]: readonly [string, unknown]) => {
    const was = before?.environment[option];
    if (!Array.isArray(now) || !Array.isArray(was)) return [option, named(now, was)] as const;
    return [option, now.map((one: unknown, index) => named(one, was[index]))] as const;
  });
  const kept = {
    ...recipe,
    policies: Object.fromEntries(policies),
    environment: Object.fromEntries(environment) as Recipe["environment"],
  };
  return recipeToYaml(kept, directory);
}

function isSamePlace(run: string, was: string, now: string): boolean {
  const place = resolve(now);
  return resolve(projectOf(run, was), was) === place && isPresentSync(place);
}

const namedPlaces = z.object({
  policies: z.record(z.string(), z.object({ model: z.object({ path: z.string().optional() }).optional() })),
  environment: z.record(z.string(), z.unknown()).default({}),
});

export interface RecipeDifference {
  /** `train.steps` */
  readonly key: string;
  /** One value per recipe; undefined: absent. */
  readonly values: readonly [unknown, unknown];
}

/** Mappings are compared key by key, other values as a whole. */
export function differences(left: unknown, right: unknown, path: readonly string[] = []): RecipeDifference[] {
  if (isDeepStrictEqual(left, right)) return [];
  if (!isMapping(left) || !isMapping(right)) return [{ key: showKey(path), values: [left, right] }];
  const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return keys.flatMap((key) => differences(left[key], right[key], [...path, key]));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The content hash of each module of a recipe, by key. */
export function moduleHashes(recipe: Recipe): Readonly<Record<string, string>> {
  const entries = moduleKeys.flatMap((key) => {
    const { moduleHash } = moduleAt(recipe, key);
    return moduleHash === undefined ? [] : [[key, moduleHash] as const];
  });
  return Object.fromEntries(entries);
}

/** @param recorded the recipe in the run's folder */
export function changedModules(recorded: unknown, recipe: Recipe): readonly Warning[] {
  const before = (recorded ?? {}) as Readonly<Record<string, { moduleHash?: unknown } | undefined>>;
  return moduleKeys.flatMap((key) => {
    const { module, moduleHash } = moduleAt(recipe, key);
    const was = before[key]?.moduleHash;
    if (module === undefined || typeof was !== "string" || was === moduleHash) return [];
    const problem = `${module} has changed since the run started (content hash ${was}, now ${moduleHash})`;
    const fix = "results before and after the change may not be comparable; restore it, or start a new run";
    return [{ key: `${key}.module`, problem, fix }];
  });
}
