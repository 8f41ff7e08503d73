/** An interpreter whose process writes the most memory that it had (peaks/sitecustomize.py). */
import { chmodSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { torchPython } from "../../src/engines/open.ts";

/** Where Python finds what watches it. */
export const watching = fileURLToPath(new URL("peaks", import.meta.url));

/** Writes a program in the place of the engine's Python, whose worker gets no other variables. */
export function writeWatched(program: string, peaks: string): void {
  const text = `#!/bin/sh
export PYTHONPATH="${watching}:$PYTHONPATH" TROUPE_BENCH_PEAKS="${peaks}"
exec "${torchPython(undefined)}" "$@"
`;
  writeFileSync(program, text);
  chmodSync(program, 0o755);
}
