/** Everything known about every cell: from run folders, from an earlier report, from this session. */
import { isDeepStrictEqual } from "node:util";
import { isPresentSync } from "../present.ts";
import { isInTable } from "./counts.ts";
import type { Folders } from "./folders.ts";
import type { Cell, Grid } from "./grid.ts";
import { needsOf } from "./grid.ts";
import type { Experiment } from "./load.ts";
import { lastFile, numbersOf } from "./numbers.ts";
import type { CellNumbers, CellRecord, ReportRecord, ReportSession } from "./records.ts";
import { recordVersion } from "./records.ts";

export class Ledger {
  private readonly experiment: Experiment;
  private readonly grid: Grid;
  private readonly folders: Folders;
  private readonly session: ReportSession;
  private readonly previous: ReportRecord | null;
  /** Session null: the cell was found done, and no report says when it ran. */
  private readonly known = new Map<string, { numbers: CellNumbers; session: ReportSession | null }>();
  private readonly problems = new Map<string, string>();

  constructor(
    experiment: Experiment,
    grid: Grid,
    folders: Folders,
    session: ReportSession,
    previous: ReportRecord | null,
  ) {
    this.experiment = experiment;
    this.grid = grid;
    this.folders = folders;
    this.session = session;
    this.previous = previous;
  }

  /** Reads every finished cell, from disk or from the earlier report. */
  async readAll(): Promise<void> {
    for (const record of this.previous?.cells ?? []) {
      const session = this.previous?.sessions[record.session ?? -1] ?? null;
      if (record.numbers !== undefined) this.known.set(record.hash, { numbers: record.numbers, session });
    }
    for (const cell of this.grid.cells) await this.read(cell);
  }

  /** Adds the numbers of a cell run in this session. */
  async readOwn(cell: Cell): Promise<CellNumbers | null> {
    return this.read(cell, this.session);
  }

  /** Adds the numbers of a cell whose files are complete. */
  async read(cell: Cell, made: ReportSession | null = null): Promise<CellNumbers | null> {
    if (!this.isOnDisk(cell)) return null;
    try {
      const numbers = await numbersOf(cell, this.folders);
      const before = this.known.get(cell.hash);
      // Other numbers than an earlier report's are of another session than it says.
      const session =
        before !== undefined && isDeepStrictEqual(before.numbers, numbers) ? before.session : null;
      this.known.set(cell.hash, { numbers, session: made ?? session });
      this.problems.delete(cell.hash);
      return numbers;
    } catch (error) {
      // An earlier report's numbers would hide it.
      this.known.delete(cell.hash);
      this.fail(cell, (error as Error).message);
      return null;
    }
  }

  fail(cell: Cell, problem: string): void {
    this.problems.set(cell.hash, problem);
  }

  problemOf(cell: Cell): string | undefined {
    return this.problems.get(cell.hash);
  }

  isKnown(cell: Cell): boolean {
    return this.known.has(cell.hash);
  }

  isOnDisk(cell: Cell): boolean {
    return isPresentSync(lastFile(cell, this.folders));
  }

  /** The report of everything known so far. */
  report(command: string, seeds: readonly number[]): ReportRecord {
    const { definition } = this.experiment;
    const sessions: ReportSession[] = [];
    const cells = this.allPlaces().map((place) => this.recordOf(place, sessions));
    const { name, title = name, description, notes, baseline, published, measures } = definition;
    const measured = Object.entries(measures).map(([key, each]) => ({ ...each, ...titled(key, each.title) }));
    return {
      schema_version: recordVersion,
      experiment: name,
      title,
      description,
      notes,
      command,
      seeds: [...seeds],
      columns: Object.entries(definition.columns).map(([key, column]) => titled(key, column.title)),
      rows: Object.entries(definition.rows).map(([key, row]) => ({
        ...titled(key, row.title),
        kind: row.train === undefined ? "evaluate" : "train",
        ...(row.point === undefined ? {} : { point: row.point }),
      })),
      shared: Object.keys(definition.shared).map((key) => titled(key, undefined)),
      ...(measured.length === 0 ? {} : { measures: measured }),
      ...(baseline === undefined ? {} : { baseline }),
      ...(published === undefined ? {} : { published }),
      cells,
      sessions,
    };
  }

  /** Those of the table, then the shared trainings. */
  private allPlaces(): Grid["places"] {
    const { shared } = this.experiment.definition;
    const own = this.grid.cells.filter((cell) => Object.hasOwn(shared, cell.row));
    return [
      ...this.grid.places,
      ...own.map((cell) => ({ row: cell.row, column: cell.column, seed: cell.seed, cell })),
    ];
  }

  private recordOf(
    { row, column, seed, cell }: Grid["places"][number],
    sessions: ReportSession[],
  ): CellRecord {
    const read = cell.kind === "evaluate" && isInTable(cell) ? { readFrom: cell.run.hash } : {};
    const place = { row, column, seed, hash: cell.hash, ...read };
    const found = this.known.get(cell.hash);
    if (found !== undefined) {
      const session = found.session === null ? {} : { session: indexIn(sessions, found.session) };
      return { ...place, status: "done", numbers: found.numbers, ...session };
    }
    const problem = this.problems.get(cell.hash);
    if (problem !== undefined) return { ...place, status: "failed", problem };
    const failed = needsOf(cell).find((need) => this.problems.has(need.hash));
    return {
      ...place,
      status: "missing",
      ...(failed === undefined ? {} : { problem: `needs ${failed.name}, which failed` }),
    };
  }
}

function titled(name: string, title: string | undefined): { name: string; title: string } {
  return { name, title: title ?? name };
}

function indexIn(sessions: ReportSession[], session: ReportSession): number {
  const index = sessions.findIndex((each) => isDeepStrictEqual(each, session));
  return index >= 0 ? index : sessions.push(session) - 1;
}
