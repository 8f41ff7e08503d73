import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { jsonLines, words } from "../../data/testing/rows.ts";
import { mathOptions } from "./options.ts";
import { openMathProblems } from "./problems.ts";

const folder = temporaryFolder();
const row = (number: number): object => ({ name: `n${number}`, text: words(number), result: number });
const cache = process.env["TROUPE_CACHE"];

beforeAll(() => {
  process.env["TROUPE_CACHE"] = path.join(folder, "cache");
});
afterAll(() => {
  if (cache === undefined) delete process.env["TROUPE_CACHE"];
  else process.env["TROUPE_CACHE"] = cache;
});

function file(name: string, numbers: readonly number[], fields: object = {}): object {
  const place = path.join(folder, `${name}.jsonl`);
  writeFileSync(place, jsonLines(numbers.map(row)));
  return { files: { test: place }, fields: { prompt: "text", answer: "result", ...fields } };
}

const opened = (dataset: object, splits: object) => openMathProblems(mathOptions.parse({ dataset, splits }));

it("splits may be from several sets; what training and evaluation share is reported", async () => {
  const contest = file("contest", [3, 4], { id: "name" });
  const splits = { train: "test", heldOut: { dataset: contest, slices: "test" } };
  const { splits: problems, warnings } = await opened(file("own", [1, 2, 3]), splits);
  expect(await problems["heldOut"]?.at(0)).toEqual({ id: "n3", prompt: words(3), answers: ["3"] });
  expect(warnings.map(({ problem }) => problem)).toEqual([
    "1 of 2 problems of heldOut are in train, too, 1 of them word for word (n3 is the same as test/2)",
  ]);
});

it("slices of one set may not share rows, and sets may not share ids", async () => {
  const own = file("again", [1, 2]);
  const shared = opened(own, { train: "test", heldOut: { dataset: own, slices: "test[:1]" } });
  await expect(shared).rejects.toThrow("no two splits may share a task");
  const other = opened(own, { train: "test", heldOut: { dataset: file("other", [5]), slices: "test" } });
  await expect(other).rejects.toThrow("two problems of different data sets have the id test/0");
});
