import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { codeOptions } from "../../environments/code/options.ts";
import { builtInCatalog } from "../catalog.ts";
import { recipeShape } from "../resolve.ts";
import { jsonSchemaOf, schemaAt, type JsonSchema } from "../shape.ts";
import { publishedKeys } from "./keys.ts";
import { pageFile, refreshed } from "./page.ts";

/** The formatter pads the columns of tables. */
function unpadded(page: string): string {
  return page.replaceAll(/ {2,}/g, " ").replaceAll(/-{3,}/g, "---");
}

it("docs/code.md lists every published key; `node src/recipes/published/page.ts` updates it", () => {
  const page = readFileSync(pageFile, "utf8");
  expect(unpadded(page)).toBe(unpadded(refreshed(page)));
});

it("each published key has one row", () => {
  const names = publishedKeys.flatMap((row) => row.names);
  expect(names.length).toBeGreaterThan(50);
  expect(new Set(names).size).toBe(names.length);
});

/** Its environment and algorithm have options of their own. */
const magrpo: JsonSchema = {
  properties: {
    ...recipeShape().properties,
    environment: jsonSchemaOf(codeOptions),
    algorithm: {
      properties: { name: {}, ...jsonSchemaOf(builtInCatalog.algorithms["magrpo"]!.options).properties },
    },
  },
};

it.each(publishedKeys.flatMap(({ ours }) => ours))("%s is a key of a recipe", (key) => {
  expect(schemaAt(magrpo, key.split("."))).toBeDefined();
});
