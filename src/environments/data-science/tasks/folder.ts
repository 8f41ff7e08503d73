/** Tasks in folders: `FOLDER/TASK/{task.json,train.csv,test.csv,labels.csv}`, and `sample_submission.csv` if there is one. */
import { createReadStream } from "node:fs";
import fs from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { TroupeError } from "../../../errors.ts";
import { jsonOrNull } from "../../../json.ts";
import { ifPresent, isPresent } from "../../../present.ts";
import { readCsv } from "../submission/csv.ts";
import type { ListedTask } from "./library.ts";
import { taskFileSchema, type TaskFile, type TaskText } from "./task.ts";
import { command } from "../../../command-line.ts";

/** By name. @throws TroupeError `bad_data` if a `task.json` is missing or invalid */
export async function tasksIn(folder: string): Promise<ListedTask[]> {
  const entries = await ifPresent(folder, () => fs.readdir(folder, { withFileTypes: true }), "bad_data");
  if (entries === null)
    throw new TroupeError(
      "bad_data",
      `environment.tasks: there is no folder ${folder}; \`${command("data", "generate", folder)}\` makes one, \`${command("data", "convert", "dsbench")}\` converts DSBench`,
    );
  const names = entries
    .filter((one) => one.isDirectory())
    .map(({ name }) => name)
    .toSorted();
  return Promise.all(names.map((name) => listedTask(path.join(folder, name), name)));
}

async function listedTask(folder: string, id: string): Promise<ListedTask> {
  const about = await readAbout(path.join(folder, "task.json"));
  await checkColumns(folder, about);
  return { id, type: about.type, split: about.split, read: () => readTask(folder, id, about) };
}

/** Here, because a training reads a task only when it draws it. */
async function checkColumns(folder: string, { idColumn, target }: TaskFile): Promise<void> {
  const columns = { "train.csv": [target], "test.csv": [idColumn], "labels.csv": [idColumn, target] };
  for (const [name, needed] of Object.entries(columns)) {
    const file = path.join(folder, name);
    const header = await headerOf(file);
    const missing = needed.find((column) => !header.includes(column));
    if (missing === undefined) continue;
    const found = header.slice(0, 20).join(", ");
    throw new TroupeError("bad_data", `${file} has no column ${missing}, as in task.json; it has ${found}`);
  }
}

/** From the beginning of the file: tables can be large. */
async function headerOf(file: string): Promise<readonly string[]> {
  if (!(await isPresent(file, "bad_data"))) throw new TroupeError("bad_data", `${file} is missing`);
  const parts = createReadStream(file, { encoding: "utf8", end: 2 ** 20 });
  try {
    let text = "";
    for await (const part of parts) {
      text += String(part);
      if (text.includes("\n")) break;
    }
    return readCsv(text, 0).header;
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    throw new TroupeError("bad_data", `${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function readAbout(file: string): Promise<TaskFile> {
  const parsed = taskFileSchema.safeParse(jsonOrNull(await textOf(file)));
  if (parsed.success) return parsed.data;
  throw new TroupeError("bad_data", `${file}: ${z.prettifyError(parsed.error)}`);
}

async function readTask(folder: string, id: string, about: TaskFile): Promise<TaskText> {
  const at = (name: string): Promise<string> => textOf(path.join(folder, name));
  const [train, test, labels] = await Promise.all([at("train.csv"), at("test.csv"), at("labels.csv")]);
  const sample = await readTextOf(path.join(folder, "sample_submission.csv"));
  return { id, about, train, test, labels, ...(sample === null ? {} : { sample }) };
}

async function textOf(file: string): Promise<string> {
  const text = await readTextOf(file);
  if (text === null) throw new TroupeError("bad_data", `${file} is missing`);
  return text;
}

/** Null: there is none. */
export function readTextOf(file: string): Promise<string | null> {
  return ifPresent(file, () => fs.readFile(file, "utf8"), "bad_data");
}

/** @throws TroupeError `bad_arguments` if the task's folder exists */
export async function writeTask(folder: string, { id, about, ...texts }: TaskText): Promise<void> {
  const place = path.join(folder, id);
  if (await isPresent(place))
    throw new TroupeError("bad_arguments", `${place} exists; name another folder, or remove it`);
  await fs.mkdir(place, { recursive: true });
  const files = {
    "task.json": `${JSON.stringify(about, null, 2)}\n`,
    "train.csv": texts.train,
    "test.csv": texts.test,
    "labels.csv": texts.labels,
    ...(texts.sample === undefined ? {} : { "sample_submission.csv": texts.sample }),
  };
  for (const [name, text] of Object.entries(files)) await fs.writeFile(path.join(place, name), text);
}
