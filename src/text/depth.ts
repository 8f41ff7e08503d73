/** JSON nested so deeply that code which follows it, here or in a library, would exhaust the stack. */
const deepest = 100;

/** Whether a parsed value has more levels of lists and objects than any file of a model. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly object[] = [value].filter(isNested);
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === deepest) return true;
    level = level.flatMap((each) => Object.values(each).filter(isNested));
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
