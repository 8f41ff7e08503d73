/** The three files of a report, each replaced atomically. */
import { join } from "node:path";
import { makeDirectory, writeFileDurably } from "../../runs/durable.ts";
import { reportSchema, type ReportRecord } from "../records.ts";
import { htmlOf } from "./html.ts";
import { markdownOf } from "./markdown.ts";
import { summarize } from "./summary.ts";

export interface ReportFiles {
  readonly json: string;
  readonly markdown: string;
  readonly html: string;
}

export function reportFiles(folder: string, experiment: string): ReportFiles {
  const file = (ending: string) => join(folder, `${experiment}.${ending}`);
  return { json: file("json"), markdown: file("md"), html: file("html") };
}

/** The pages are made from the record alone. */
export async function writeReport(given: ReportRecord, folder: string): Promise<ReportFiles> {
  const record = reportSchema.parse(given);
  const files = reportFiles(folder, record.experiment);
  const summary = summarize(record);
  await makeDirectory(folder);
  await writeFileDurably(files.json, `${JSON.stringify(record, null, 2)}\n`);
  await writeFileDurably(files.markdown, markdownOf(summary, `${record.experiment}.html`));
  await writeFileDurably(files.html, htmlOf(summary));
  return files;
}
