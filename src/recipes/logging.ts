/** The `logging` section of a run's recipe with overrides, to send the records of a run trained without it. */
import { z } from "zod";
import { loggingSettings, type LoggingSettings } from "../logging/settings.ts";
import { RecipeError } from "./mistakes.ts";
import { applyOverrides } from "./overrides.ts";
import { jsonSchemaOf } from "./shape.ts";
import type { MappingTree } from "./tree.ts";
import { plainOf } from "./tree.ts";
import { explain } from "./validation/explain.ts";

const section = z.strictObject({ logging: loggingSettings.prefault({}) });

/**
 * @param recipe as written in the run's folder; only its `logging` section is read
 * @param overrides `logging.key=value`
 * @throws RecipeError listing every mistake
 */
export function settingsOf(recipe: unknown, overrides: readonly string[]): LoggingSettings {
  const given = z.object({ logging: z.unknown() }).partial().catch({}).parse(recipe).logging;
  const empty: MappingTree = { kind: "mapping", origin: { kind: "override", text: "" }, entries: new Map() };
  const own = given === undefined ? [] : [`logging=${JSON.stringify(given)}`];
  const tree = applyOverrides(empty, [...own, ...overrides]);
  const parsed = section.safeParse(plainOf(tree));
  if (parsed.success) return parsed.data.logging;
  throw new RecipeError(explain(parsed.error.issues, tree, jsonSchemaOf(section)));
}
