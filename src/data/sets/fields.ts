/** Reads the fields of a row; errors name the field. */
import { z } from "zod";
import { showText } from "../../format.ts";
import type { Row } from "../formats/row.ts";
import { MalformedRow } from "./problem-set.ts";

/** The row, checked by the schema. @throws MalformedRow with the first problem */
export function fieldsOf<T>(row: Row, schema: z.ZodType<T>): T {
  const result = schema.safeParse(row);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new MalformedRow(`${issue?.path.join(".") ?? "row"}: ${showText(issue?.message ?? "", 200)}`);
}

/** A field that holds JSON as a text. @throws MalformedRow */
export function jsonField<T>(name: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof MalformedRow) throw error;
    throw new MalformedRow(`${name}: ${showText((error as Error).message, 200)}`);
  }
}

/** The code before the definition of the function: imports and helpers. @throws MalformedRow if it is not defined */
export function codeBefore(entryPoint: string, code: string): string {
  const definition = new RegExp(String.raw`^(?:async\s+)?def\s+${entryPoint}\s*\(`, "gm");
  const last = [...code.matchAll(definition)].at(-1);
  if (last === undefined) throw new MalformedRow(`prompt: no definition of the entry point ${entryPoint}`);
  return code
    .slice(0, last.index)
    .replace(/^\s*\n/, "")
    .trimEnd();
}
