import { join, resolve } from "node:path";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { commandLine, defaultRuns, wholeCommand } from "./command.ts";

const plain = { given: "at-grpo-table", runs: defaultRuns, report: defaultRuns };
const elsewhere = join(tmpdir(), "elsewhere");

describe("the command line in a report", () => {
  const table = "troupe experiment at-grpo-table";
  const parts = { seeds: [4, 5], rows: ["team"], columns: ["sudoku"], jobs: 1 };
  const below = { given: resolve("my.yaml"), runs: resolve("big"), report: resolve("docs/results") };
  // Elsewhere they are this machine's own.
  const absolute = { given: join(elsewhere, "my.yaml"), runs: elsewhere, report: elsewhere };

  it.each([
    [plain, table],
    [{ ...plain, ...parts }, `${table} --seeds 4,5 --rows team --columns sudoku --jobs 1`],
    [{ ...plain, report: "docs/results/" }, `${table} --report docs/results`],
    [below, "troupe experiment my.yaml --runs big --report docs/results"],
    [{ ...plain, report: "../results" }, `${table} --report ../results`],
    [{ ...plain, runs: "big", report: "big" }, `${table} --runs big`],
    [{ ...plain, report: resolve(".") }, `${table} --report .`],
    [absolute, "troupe experiment my.yaml"],
    [{ ...plain, report: "it's here" }, String.raw`${table} --report 'it'\''s here'`],
  ])("of %j is %s", (call, expected) => {
    expect(commandLine(call)).toBe(expected);
  });

  it("of the whole report: all seeds if they are not the experiment's own, and no part of the grid", () => {
    const call = { ...plain, report: "pages", seeds: [4], rows: ["team"], columns: ["sudoku"], jobs: 1 };
    expect(wholeCommand(call, [1, 2, 3], [3, 1, 2])).toBe(`${table} --report pages`);
    expect(wholeCommand(call, [1, 2, 3, 4], [1, 2, 3])).toBe(`${table} --seeds 1,2,3,4 --report pages`);
    expect(wholeCommand(call, [1], [1, 2, 3])).toBe(`${table} --seeds 1 --report pages`);
  });
});
