/** Tasks from files of JSON lines, each any JSON: for environments that pass them on. */
import { readFile } from "node:fs/promises";
import { TroupeError } from "../errors.ts";
import { jsonOrNull } from "../json.ts";
import type { FiniteTasks, Json } from "./environment.ts";
import { taskList } from "./tasks.ts";

/** @param files by split @throws TroupeError `bad_data` if one is not JSON lines, or has no tasks */
export async function tasksIn(
  files: Readonly<Record<string, string>>,
): Promise<Record<string, FiniteTasks<Json>>> {
  const read = Object.entries(files).map(
    async ([split, file]) => [split, taskList(await linesOf(file))] as const,
  );
  return Object.fromEntries(await Promise.all(read));
}

async function linesOf(file: string): Promise<readonly Json[]> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new TroupeError("bad_data", `the tasks ${file} cannot be read: ${cause.message}`, { cause });
  });
  const tasks = text.split("\n").flatMap((line, index): Json[] => {
    if (line.trim() === "") return [];
    const task = jsonOrNull(line) as Json;
    if (task !== null) return [task];
    throw new TroupeError("bad_data", `${file}, line ${index + 1}, is not JSON; expected one task per line`);
  });
  if (tasks.length > 0) return tasks;
  throw new TroupeError("bad_data", `${file} has no tasks`);
}
