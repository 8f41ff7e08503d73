/** `troupe experiment --dry-run`: what there is to do. Nothing is run and nothing is written. */
import type { Undertaking } from "../../experiments/experiment.ts";
import { showCells } from "../../experiments/report/text.ts";
import { memoryOf } from "../../experiments/jobs.ts";
import { showPath } from "../../recipes/origin.ts";
import { showBytes } from "../format.ts";
import { printJson, printLines } from "../print.ts";
import { tableLines } from "../table.ts";

export function printPlan({ wanted, todo, share, folders }: Undertaking, json: boolean): void {
  const cells = wanted.map((cell) => ({
    column: cell.column,
    row: cell.row,
    seed: cell.seed,
    does: cell.kind,
    hash: cell.hash,
    status: todo.includes(cell) ? "to do" : "done",
    folder: showPath(folders.of(cell)),
  }));
  const memory = share.jobs * Math.max(0, ...todo.map(memoryOf));
  if (json) return printJson({ cells, ...share, memory });
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
    `${showCells(cells.length)}, ${todo.length} to do; ${share.jobs} at once with ${share.threads} ` +
      `${share.threads === 1 ? "thread" : "threads"} each, about ${showBytes(memory)} of memory. Nothing was written.`,
  ]);
}
