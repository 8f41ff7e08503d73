/** States are values: in a run they are frozen, so that an environment that changes one fails instead of training on it. */
import type { Json } from "./environment.ts";

/** Frozen with everything in them. Successive states share most of their parts. */
const frozen = new WeakSet<object>();

/** Freezes objects and lists at any depth. What is not JSON, such as a typed array, is left as it is. */
export function deepFreeze<Value extends Json>(value: Value): Value {
  const left: object[] = [];
  const visit = (part: unknown): void => {
    if (typeof part === "object" && part !== null) left.push(part);
  };
  visit(value);
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (frozen.has(next) || ArrayBuffer.isView(next)) continue;
    frozen.add(Object.freeze(next));
    Object.values(next).forEach(visit);
  }
  return value;
}

/** Whether the error comes from writing to something frozen. */
export function isOfFrozen(error: unknown): boolean {
  return (
    error instanceof TypeError &&
    /^Cannot (assign to read only|add|delete|define|redefine) property/.test(error.message)
  );
}
