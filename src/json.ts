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

/** The JSON objects in a text, whatever surrounds them, in order; not those inside others. */
export function objectsIn(text: string): readonly object[] {
  const found: object[] = [];
  let work = 0;
  for (let at = text.indexOf("{"); at >= 0 && work < mostWork;) {
    const end = endOfObject(text, at, at + mostWork - work);
    work += (end ?? text.length) - at;
    const value = end === null ? null : jsonOrNull(text.slice(at, end));
    if (typeof value === "object" && value !== null) found.push(value);
    at = text.indexOf("{", value === null || end === null ? at + 1 : end);
  }
  return found;
}

/** Where the brace that opens here is closed; null: nowhere before the limit. */
function endOfObject(text: string, start: number, limit: number): number | null {
  let [depth, isQuoted] = [0, false];
  for (let at = start; at < text.length && at < limit; at++) {
    const character = text[at];
    if (isQuoted && character === "\\") at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return null;
}
