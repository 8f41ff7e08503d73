import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { countsOfCells, countsOfRecord } from "./counts.ts";
import { foldersIn } from "./folders.ts";
import { expand } from "./grid.ts";
import { Ledger } from "./ledger.ts";
import { loadExperiment } from "./load.ts";
import type { ReportSession } from "./records.ts";
import { shippedExperiments } from "./shipped.ts";

const miniature = join(import.meta.dirname, "fixtures", "miniature.yaml");
const session: ReportSession = {
  date: "2026-11-21",
  command: "troupe experiment miniature",
  version: "0.1.0",
  commit: null,
  processor: "A kind",
  cores: 2,
  jobs: 2,
  threads: 1,
};

const empty = temporaryFolder();

/** What the grid of so many seeds counts, and the report in which nothing is done. */
async function counted(file: string, count = 1) {
  const experiment = loadExperiment(file);
  const seeds = experiment.definition.seeds.slice(0, count);
  const grid = await expand(experiment, seeds);
  const record = new Ledger(experiment, grid, foldersIn(empty), session, null).report("", seeds);
  return { counts: countsOfCells(grid.places.length, grid.cells), record };
}

describe("what an experiment counts", async () => {
  it("by hand: a result read from a run's own table is not a cell, shared trainings are", async () => {
    // Each seed: the warm start, two trained rows and the swapped row; the single agent's result is the warm start's.
    expect((await counted(miniature, 2)).counts).toEqual({ results: 8, trainings: 6, evaluations: 2 });
  });

  const complete = Object.entries({ ...shippedExperiments(), miniature }).filter(
    ([, file]) => loadExperiment(file).definition.requires.length === 0,
  );
  it.each(complete)("%s: the report says the same as the list and the dry run", async (_, file) => {
    const { counts, record } = await counted(file);
    expect(countsOfRecord(record, record.cells)).toEqual(counts);
  });

  it("in a report without `readFrom`, results that were read are recognised by their time, 0", async () => {
    const { record } = await counted(miniature);
    const played = { tasks: 1, successes: 0, success: 0, score: 0, turns: 1, curve: [] };
    const tokens = { sampled: 0, trained: 0 };
    const cells = record.cells.map(({ readFrom, ...cell }) => {
      const seconds = readFrom === undefined ? 9 : 0;
      const numbers = { ...played, steps: 0, updates: 0, tokens, parameters: 1, seconds };
      return { ...cell, status: "done" as const, numbers };
    });
    expect(countsOfRecord(record, cells)).toEqual(countsOfRecord(record, record.cells));
  });
});
