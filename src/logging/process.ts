/**
 * The process that keeps a training's sinks up to date. The training starts it with the run's folder and the `logging`
 * section, and ends it by closing its standard input, which the system does even if the training is killed. It prints a
 * line for each problem.
 */
import { appendFileSync } from "node:fs";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TroupeError } from "../errors.ts";
import { showText } from "../format.ts";
import { acquireLock, type Lock } from "../runs/lock.ts";
import { schemaVersion } from "../runs/records.ts";

import { followRun, messageOf } from "./follow.ts";
import { openSink, requestedSinks } from "./open.ts";
import { loggingSettings, withoutSecrets, type LoggingSettings, type SinkName } from "./settings.ts";

const [, , directory = "", section = "{}"] = process.argv;

async function main(): Promise<void> {
  // Training comes first where processors are scarce.
  os.setPriority(10);
  // The training may end before the last message.
  process.stdout.on("error", () => {});
  const ended = new AbortController();
  process.stdin.on("end", () => ended.abort()).resume();
  const settings = loggingSettings.parse(JSON.parse(section));
  const lock = await lockOf(path.join(directory, "logging"), ended.signal);
  try {
    await Promise.all(requestedSinks(settings).map((name) => follow(name, settings, ended.signal)));
  } finally {
    await lock.release();
  }
}

async function follow(name: SinkName, settings: LoggingSettings, ended: AbortSignal): Promise<void> {
  try {
    const sink = await openSink(name, directory, settings, process.env);
    try {
      await followRun(sink, (problem) => say(sink.title, problem), ended);
    } finally {
      await sink.close();
    }
  } catch (error) {
    say(name, messageOf(error));
  }
}

/** The training shows the line if it still runs; the file is for later. */
function say(title: string, problem: string): void {
  const text = showText(withoutSecrets(`${title}: ${problem}`, process.env), 500);
  process.stdout.write(`${text}\n`);
  const time = new Date().toISOString();
  const line = JSON.stringify({ schema_version: schemaVersion, time, problem: text });
  appendFileSync(path.join(directory, "logging", "problems.jsonl"), `${line}\n`);
}

/** That of an interrupted training may still be sending; its part comes first. */
async function lockOf(folder: string, ended: AbortSignal): Promise<Lock> {
  await fs.mkdir(folder, { recursive: true });
  for (;;) {
    try {
      return await acquireLock(folder);
    } catch (error) {
      if (!(error instanceof TroupeError) || error.code !== "in_use" || ended.aborted) throw error;
      await delay(1000);
    }
  }
}

await main();
