import type { Split } from "./environment.ts";

/** A quarter of all tasks is held out. `hash`: 32 well-mixed bits of what makes tasks the same, signed or not. */
export function splitOfHash(hash: number): Split {
  return (hash & 3) === 0 ? "heldOut" : "train";
}
