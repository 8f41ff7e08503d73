import { expect, it } from "vitest";
import { codeOptions } from "../../environments/code/options.ts";
import { builtInCatalog } from "../catalog.ts";
import { recipeShape } from "../resolve.ts";
import { jsonSchemaOf, schemaAt, type JsonSchema } from "../shape.ts";
import { publishedKeys } from "./keys.ts";

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
