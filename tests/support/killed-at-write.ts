/** Kills this process at its n-th disk write, halfway through it if it is an append. */
import { appendFileSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

let changes = 0;

/** Writes so far. */
export function changeCount(): number {
  return changes;
}

/** 0: never; writes are only counted. */
export async function killAtChange(number: number): Promise<void> {
  const counted = <Arguments extends unknown[], Result>(
    change: (...values: Arguments) => Result,
    half?: (...values: Arguments) => void,
  ) =>
    function count(this: unknown, ...values: Arguments): Result {
      changes += 1;
      if (changes === number) {
        half?.(...values);
        process.kill(process.pid, "SIGKILL");
      }
      return change.apply(this, values);
    };
  fs.appendFile = counted(fs.appendFile, appendHalf);
  for (const name of ["mkdir", "rename", "rm", "writeFile", "truncate", "copyFile", "open"] as const) {
    Object.assign(fs, { [name]: counted(fs[name] as (...values: unknown[]) => unknown) });
  }
  syncBuiltinESMExports();
  await countHandles(counted);
}

function appendHalf(file: unknown, data: unknown): void {
  const text = String(data);
  appendFileSync(String(file), text.slice(0, text.length / 2));
}

/** Writes through a file handle count by the handle's writes and flushes. */
async function countHandles(counted: (change: (...values: unknown[]) => unknown) => unknown): Promise<void> {
  const handle = await fs.open(import.meta.filename, "r");
  const prototype = Object.getPrototypeOf(handle) as Record<string, (...values: unknown[]) => unknown>;
  await handle.close();
  for (const name of ["write", "writeFile", "sync"]) {
    Object.assign(prototype, { [name]: counted(prototype[name] as (...values: unknown[]) => unknown) });
  }
}
