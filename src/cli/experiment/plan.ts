/** `troupe experiment --dry-run`: what is left to do. Nothing runs and nothing is written. */
import { countsOfCells } from "../../experiments/counts.ts";
import type { Undertaking } from "../../experiments/experiment.ts";
import { memoryAtOnce } from "../../experiments/jobs.ts";
import { showCells, showCounts } from "../../experiments/report/text.ts";
import { showBytes } from "../../format.ts";
import { showPath } from "../../recipes/tree.ts";
import { printJson, printLines } from "../print.ts";
import { tableLines } from "../table.ts";

export function printPlan({ results, wanted, todo, share, folders }: Undertaking, json: boolean): void {
  const cells = wanted.map((cell) => ({
    column: cell.column,
    row: cell.row,
    seed: cell.seed,
    does: cell.kind,
    hash: cell.hash,
    status: todo.includes(cell) ? "to do" : "done",
    folder: showPath(folders.of(cell)),
  }));
  const memory = memoryAtOnce(todo, share.jobs);
  if (json) return printJson({ results, cells, ...share, memory });
  const columns = ["column", "row", "seed", "does", "status", "folder"].map((title) => ({ title }));
  const rows = cells.map(({ column, row, seed, does, status, folder }) => [
    column,
    row,
    String(seed),
    does,
    status,
    folder,
  ]);
  printLines([
    ...tableLines(columns, rows),
    "",
    `${showCounts(countsOfCells(results, wanted))}, ${showCells(todo.length)} to do; ${share.jobs} at once with ${share.threads} ` +
      `${share.threads === 1 ? "thread" : "threads"} each, about ${showBytes(memory)} of memory. Nothing was written.`,
    ...memoryWarning({ todo, share }),
  ]);
}

/** A warning if the requested concurrent cells do not fit in free memory; otherwise nothing. */
export function memoryWarning({ todo, share }: Pick<Undertaking, "todo" | "share">): string[] {
  const memory = memoryAtOnce(todo, share.jobs);
  const free = process.availableMemory();
  if (memory <= free) return [];
  const size = `about ${showBytes(memory)} of memory, and ${showBytes(free)} are free`;
  return [
    `warning: ${share.jobs} concurrent cells take ${size}; if the system kills some, use a smaller --jobs`,
  ];
}
