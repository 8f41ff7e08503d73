/** Checks the arguments of a call against the tool's JSON schema. */
import { z } from "zod";
import { showText } from "../format.ts";
import type { JsonObject } from "../text/files.ts";
import type { Tool } from "../text/messages.ts";

const longestProblem = 400;

/** @returns what is wrong with the arguments; null: nothing, or the schema has parts that only its server can check */
export function argumentChecker({ parameters }: Tool): (given: JsonObject) => string | null {
  const schema = schemaOf(parameters ?? { type: "object" });
  return (given) => {
    const parsed = schema?.safeParse(given);
    if (parsed === undefined || parsed.success) return null;
    return showText(parsed.error.issues.map(describe).join("; "), longestProblem);
  };
}

function schemaOf(schema: JsonObject): z.ZodType | undefined {
  try {
    return z.fromJSONSchema(schema);
  } catch {
    return undefined;
  }
}

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
