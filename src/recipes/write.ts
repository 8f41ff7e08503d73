/** A resolved recipe back to YAML: what a run folder keeps and what `--dry-run` shows. */
import { Document, isMap, isScalar, visit } from "yaml";
import type { Node } from "yaml";
import type { Recipe } from "./schema.ts";
import type { Path } from "./tree.ts";

/** The recipe with every default filled in. Reading it again gives the same recipe. */
export function recipeToYaml(recipe: Recipe): string {
  return documentOf(recipe).toString({ lineWidth: 0 });
}

/** The same with the origin of every value as a comment behind it. */
export function annotatedYaml(recipe: Recipe, originOf: (path: Path) => string): string {
  const document = documentOf(recipe);
  annotate(document.contents, [], originOf);
  return document.toString({ lineWidth: 0 });
}

function documentOf(recipe: Recipe): Document {
  const document = new Document(recipe, { aliasDuplicateObjects: false });
  visit(document, {
    // Lists of plain values read best on one line: phases, stop strings, target modules.
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
