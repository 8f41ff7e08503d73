/** JSON that others wrote. */

/** Null: not JSON. */
export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Characters that are looked at in all: objects that are found only after more of them do not count. */
const mostWork = 2 ** 22;

export interface FoundObject {
  readonly value: object;
  /** As it was written. */
  readonly text: string;
  /** Where it ends in the whole. */
  readonly end: number;
}

/** The JSON objects in a text, whatever surrounds them, in order; not those inside others. */
export function objectsIn(text: string): readonly FoundObject[] {
  const found: FoundObject[] = [];
  let work = 0;
  for (let at = text.indexOf("{"); at >= 0 && work < mostWork;) {
    const end = endOfObject(text, at, at + mostWork - work);
    work += (end ?? text.length) - at;
    const value = end === null ? null : jsonOrNull(text.slice(at, end));
    const isObject = end !== null && typeof value === "object" && value !== null;
    if (isObject) found.push({ value, text: text.slice(at, end), end });
    at = text.indexOf("{", isObject ? end : at + 1);
  }
  return found;
}

/** Whether an object begins after the last one that was found: it is broken, or the text was cut off. */
export function endsInBrokenObject(text: string, found: readonly FoundObject[]): boolean {
  return /\{\s*(?:["']|\w+\s*:|$)/.test(text.slice(found.at(-1)?.end ?? 0));
}

/** Where the brace that opens here is closed; null: nowhere before the limit. */
function endOfObject(text: string, start: number, limit: number): number | null {
  let depth = 0;
  for (const at of unquoted(text, start, limit)) {
    if (text[at] === "{") depth += 1;
    else if (text[at] === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return null;
}

/** Whether an object in valid JSON has a key twice. `JSON.parse` would take the last value, in silence. */
export function repeatsKey(json: string): boolean {
  let written = 0;
  for (const at of unquoted(json, 0, json.length)) if (json[at] === ":") written += 1;
  let kept = 0;
  const open: unknown[] = [JSON.parse(json)];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const values: readonly unknown[] = Object.values(value);
    if (!Array.isArray(value)) kept += values.length;
    for (const one of values) open.push(one);
  }
  return kept < written;
}

/** The places of characters outside of strings. */
function* unquoted(text: string, start: number, limit: number): Generator<number> {
  let isQuoted = false;
  for (let at = start; at < text.length && at < limit; at++) {
    const character = text[at];
    if (isQuoted && character === "\\") at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted) yield at;
  }
}
