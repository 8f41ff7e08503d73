/** Writes a resolved recipe as YAML, for a run folder or `--dry-run`. */
import { realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { isPresentSync } from "../present.ts";
import { Document, isMap, isScalar, visit } from "yaml";
import type { Node } from "yaml";
import { judgeRow } from "./judge-row.ts";
import type { Recipe } from "./schema.ts";
import type { Path } from "./tree.ts";

/**
 * The recipe with all defaults. Reading it again gives the same recipe.
 * @param folder that paths of modules and of a judge's working directory are written relative to, so that a project can
 * be moved as a whole
 */
export function recipeToYaml(recipe: Recipe, folder: string): string {
  const { environment, algorithm, judge } = recipe;
  const moved = {
    ...recipe,
    environment: seenFrom(folder, "module", environment),
    algorithm: seenFrom(folder, "module", algorithm),
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
