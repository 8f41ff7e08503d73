/** How the text of a reply becomes an action of the server. */
import { TroupeError } from "../../errors.ts";
import { showText } from "../../format.ts";
import { jsonOrNull, objectsIn } from "../../json.ts";
import type { Json } from "../environment.ts";
import type { OpenEnvOptions } from "./options.ts";
import type { JsonObject } from "./server.ts";

/** The action, or what is wrong with the text. */
export type ReadAction = (text: string) => JsonObject | string;

/**
 * @param schema of the server's actions
 * @throws TroupeError `bad_recipe` if no text could become an action: every reply would be rejected
 */
export function actionReader({ action, fields }: OpenEnvOptions, schema: JsonObject): ReadAction {
  const given = fields as JsonObject;
  const properties = recordIn(schema["properties"]);
  const all = Object.keys(properties);
  const unknown = Object.keys(given).find((name) => !all.includes(name));
  if (unknown !== undefined && schema["additionalProperties"] === false)
    throw mistake(`fields: an action has no field \`${unknown}\``, all);
  const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const open = required.filter((name) => !Object.hasOwn(given, name));
  const named = action ?? (open.length === 1 ? open[0] : "json");
  if (named === undefined || named === "json") return (text) => wholeAction(text, given);
  const [field = "", ...inner] = named.split(".");
  if (!all.includes(field)) throw mistake(`action: an action has no field \`${field}\``, all);
  const missing = open.find((name) => name !== field);
  if (missing !== undefined)
    throw mistake(
      `action: an action needs \`${missing}\`, too; put it into \`fields\`, or use \`json\``,
      all,
    );
  const type = inner.length === 0 ? typeOf(properties[field], schema) : "string";
  return (text) => {
    const value = valueIn(text.trim(), type);
    if (value === undefined) return `${showText(text, 80)} is no ${type} for \`${field}\` of an action`;
    return { ...given, [field]: placed(inner, value, given[field]) };
  };
}

function mistake(problem: string, known: readonly string[]): TroupeError {
  return new TroupeError(
    "bad_recipe",
    `environment.${problem}; the server's actions have ${known.join(", ")}`,
  );
}

/** The last JSON object in the text: what is before it may be thinking aloud. */
function wholeAction(text: string, given: JsonObject): JsonObject | string {
  const found = objectsIn(text).at(-1);
  if (found === undefined) return `${showText(text, 80)} contains no JSON object`;
  return { ...(found.value as JsonObject), ...given };
}

type FieldType = "string" | "integer" | "number" | "boolean" | "array" | "object";

const fieldTypes: readonly unknown[] = ["integer", "number", "boolean", "array", "object"];

/** Optional fields have a choice of types, of which the first counts that is not null. */
function typeOf(property: Json | undefined, schema: JsonObject): FieldType {
  const { type, anyOf, $ref } = recordIn(property);
  if (typeof $ref === "string")
    return typeOf(recordIn(schema["$defs"])[$ref.replace("#/$defs/", "")], { ...schema, $defs: {} });
  if (Array.isArray(anyOf))
    return typeOf(
      anyOf.find((one) => recordIn(one)["type"] !== "null"),
      schema,
    );
  return fieldTypes.includes(type) ? (type as FieldType) : "string";
}

/** Undefined: the text is none of the type. */
function valueIn(text: string, type: FieldType): Json | undefined {
  if (type === "string") return text.toWellFormed();
  if (type === "integer") return /^[+-]?\d{1,15}$/.test(text) ? Number(text) : undefined;
  const value = jsonOrNull(type === "boolean" ? text.toLowerCase() : text) as Json;
  const isOfType = {
    number: Number.isFinite(value),
    boolean: typeof value === "boolean",
    array: Array.isArray(value),
    object: typeof value === "object" && value !== null && !Array.isArray(value),
  }[type];
  return isOfType ? value : undefined;
}

/** `arguments.message` is a field inside a field. */
function placed([name, ...inner]: readonly string[], value: Json, around: Json | undefined): Json {
  if (name === undefined) return value;
  const record = recordIn(around);
  return { ...record, [name]: placed(inner, value, record[name]) };
}

function recordIn(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
