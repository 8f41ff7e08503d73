/**
 * Writes a run's points as a TensorBoard event file. The file is a function of the run's records: it is extended while
 * they grow, and replaced if a resumed run repeated steps, so that it never has a step twice.
 */
import fs from "node:fs/promises";
import path from "node:path";
import { ifPresent } from "../../present.ts";
import { readClock } from "../clock.ts";
import { readPoints } from "../points.ts";
import type { Sink } from "../sink.ts";
import { eventFile } from "./event-file.ts";

const prefix = "events.out.tfevents.";

export function tensorboardSink(directory: string): Sink {
  const folder = path.join(directory, "logging", "tensorboard");
  return { title: "TensorBoard", update: () => write(directory, folder), close: async () => {} };
}

async function write(directory: string, folder: string): Promise<void> {
  await fs.mkdir(folder, { recursive: true });
  const points = await readPoints(directory);
  const { started } = await readClock(directory);
  const wanted = eventFile(started, points);
  const names = (await fs.readdir(folder)).filter((name) => name.startsWith(prefix));
  const numbers = names.map((name) => Number(name.slice(name.lastIndexOf(".") + 1)));
  const last = Math.max(0, ...numbers);
  const file = (number: number) =>
    path.join(folder, `${prefix}${Math.floor(started / 1000)}.troupe.${number}`);
  const present = names.length === 1 ? await ifPresent(file(last), (name) => fs.readFile(name)) : null;
  if (present !== null && isPrefix(present, wanted)) {
    return fs.appendFile(file(last), wanted.subarray(present.length));
  }
  // The steps after the last checkpoint are about to be repeated.
  if (present !== null && isPrefix(wanted, present)) return;
  for (const name of names) await fs.rm(path.join(folder, name));
  await fs.writeFile(file(last + 1), wanted);
}

function isPrefix(part: Buffer, whole: Buffer): boolean {
  return part.length <= whole.length && part.equals(whole.subarray(0, part.length));
}
