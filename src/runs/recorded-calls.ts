/**
 * Answers of external services by question: JSON lines, appended as answers arrive. A resume rewinds everything except
 * these, so that no question is asked, or paid for, twice, and a run is reproducible bit for bit.
 */
import { schemaVersion } from "./records.ts";
import { appendLines, cutLines, readLines } from "./json-lines.ts";
import type { StoredLine } from "./json-lines.ts";

export interface RecordedCalls {
  /** The recorded answer; undefined: none. */
  get(key: string): unknown;
  /** Resolves once the answers are in the file. The first answer to a question is kept. */
  put(answers: readonly RecordedCall[]): Promise<void>;
}

export interface RecordedCall {
  /** Hash of the request. */
  readonly key: string;
  readonly answer: object;
  /** What was asked, for people; no answer depends on it. */
  readonly about?: object;
}

/**
 * Opens the file for writing and truncates an incomplete last line. The caller holds the lock of the run's folder.
 * @throws TroupeError `bad_run` if the file is damaged
 */
export async function openRecordedCalls(file: string): Promise<RecordedCalls> {
  const found = await cutLines(file, () => true);
  return recorded(answersOf(found), (calls) => appendLines(file, calls.map(lineOf)));
}

/** The answers in the file; new ones stay in memory, because another process may be writing the file. */
export async function readRecordedCalls(file: string): Promise<RecordedCalls> {
  const lines = await readLines(file);
  return recorded(answersOf(lines.map(({ value }) => value)), async () => {});
}

/** Recorded calls in memory only. */
export function unrecordedCalls(): RecordedCalls {
  return recorded(new Map(), async () => {});
}

function recorded(
  known: Map<string, unknown>,
  append: (calls: readonly RecordedCall[]) => Promise<void>,
): RecordedCalls {
  // One append at a time: concurrent lines could mix.
  let last: Promise<void> = Promise.resolve();
  return {
    get: (key) => known.get(key),
    put(answers) {
      const news = answers.filter(({ key }) => !known.has(key));
      for (const { key, answer } of news) known.set(key, answer);
      if (news.length === 0) return last;
      last = last.then(() => append(news));
      return last;
    },
  };
}

function answersOf(lines: readonly StoredLine["value"][]): Map<string, unknown> {
  const answers = new Map<string, unknown>();
  for (const { key, answer } of lines)
    if (typeof key === "string" && !answers.has(key)) answers.set(key, answer);
  return answers;
}

function lineOf(call: RecordedCall): object {
  return { schema_version: schemaVersion, ...call };
}
