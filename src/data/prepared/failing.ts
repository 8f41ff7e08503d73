/**
 * Problems that fail their own tests: those whose solution failed when `troupe data verify` ran it. Stored by the digest
 * of the split's problems, so that they hold for equal contents wherever they are, and for no others.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { command } from "../../command-line.ts";
import { TroupeError } from "../../errors.ts";
import { ifPresent } from "../../present.ts";
import { writeFileDurably } from "../../runs/durable.ts";
import { makeCacheDirectory, type CacheLayout } from "../cache/place.ts";
import type { ProblemStore } from "./store.ts";

const failingSchema = z.strictObject({ row: z.int(), id: z.string(), reason: z.string() });
const fileSchema = z.strictObject({ version: z.literal(2), failing: z.array(failingSchema) });

export type FailingProblem = z.output<typeof failingSchema>;

/** Empty if no solutions were run. @throws TroupeError `bad_data` if the file is damaged */
export async function readFailing(
  cache: CacheLayout,
  store: ProblemStore,
): Promise<readonly FailingProblem[]> {
  const file = fileOf(cache, store);
  const text = await ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data");
  if (text === null) return [];
  try {
    return fileSchema.parse(JSON.parse(text)).failing;
  } catch (error) {
    const fix = `delete it, and \`${command("data", "verify")} DATASET\` makes it again`;
    throw new TroupeError("bad_data", `${file} is damaged: ${fix}`, { cause: error });
  }
}

/** Replaces what an earlier verification found. */
export async function writeFailing(
  cache: CacheLayout,
  store: ProblemStore,
  failing: readonly FailingProblem[],
): Promise<void> {
  await makeCacheDirectory(cache.solutions);
  const value: z.input<typeof fileSchema> = { version: 2, failing: [...failing] };
  await writeFileDurably(fileOf(cache, store), `${JSON.stringify(value)}\n`);
}

function fileOf({ solutions }: CacheLayout, { digest }: ProblemStore): string {
  return path.join(solutions, `${digest}.json`);
}
