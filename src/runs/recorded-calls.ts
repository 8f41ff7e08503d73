/**
 * Answers of external services by question: JSON lines, appended as answers arrive. A resume rewinds everything except
 * these, so that no question is asked, or paid for, twice, and a run is reproducible bit for bit.
 */
import {
  rememberedCalls,
  valueOf,
  type RecordedCall,
  type RecordedCalls,
  type RecordedFailure,
} from "../calls/recorded.ts";
import { schemaVersion } from "./records.ts";
import { appendLines, cutLines, readLines } from "./json-lines.ts";
import type { StoredLine } from "./json-lines.ts";

/**
 * Opens the file for writing and truncates an incomplete last line. The caller holds the lock of the run's folder.
 * @throws TroupeError `bad_run` if the file is damaged
 */
export async function openRecordedCalls(file: string): Promise<RecordedCalls> {
  const found = await cutLines(file, () => true);
  return rememberedCalls(answersOf(found), (calls) => appendLines(file, calls.map(lineOf)));
}

/** The answers in the file; new ones stay in memory, because another process may be writing the file. */
export async function readRecordedCalls(file: string): Promise<RecordedCalls> {
  const lines = await readLines(file);
  return rememberedCalls(answersOf(lines.map(({ value }) => value)), async () => {});
}

function answersOf(lines: readonly StoredLine["value"][]): Map<string, unknown> {
  const answers = new Map<string, unknown>();
  for (const line of lines)
    if (typeof line["key"] === "string" && !answers.has(line["key"])) answers.set(line["key"], valueOf(line));
  return answers;
}

function lineOf(call: RecordedCall | RecordedFailure): object {
  return { schema_version: schemaVersion, ...call };
}
