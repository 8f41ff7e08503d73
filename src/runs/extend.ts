/** Gives a run more steps than it was started with. */
import fs from "node:fs/promises";
import { writeFileDurably } from "./durable.ts";
import { layoutOf } from "./layout.ts";
import { acquireLock } from "./lock.ts";

/**
 * Withdraws the result, if there is one, and replaces the recipe, so that the run resumes after its last step.
 *
 * @param recipe the resolved recipe as YAML; only its number of steps may differ
 * @param note for readers of the recipe, one line
 * @throws TroupeError `in_use` if a process is writing the run
 */
export async function extendRun(directory: string, recipe: string, note: string): Promise<void> {
  const layout = layoutOf(directory);
  const lock = await acquireLock(directory);
  try {
    const before = await fs.readFile(layout.recipe, "utf8");
    const notes = before.split("\n").filter((line) => line.startsWith("# extended "));
    // First the result: with it the run would count as finished.
    await fs.rm(layout.result, { force: true });
    await writeFileDurably(layout.recipe, [...notes, `# ${note}`, recipe].join("\n"));
  } finally {
    await lock.release();
  }
}
