import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCsv, writeCsv } from "./csv.ts";
import { canonical, readSubmission, type SubmissionForm } from "./submission.ts";

const labels: SubmissionForm = {
  idColumn: "id",
  target: "grade",
  values: "labels",
  ids: ["1", "2", "3"],
  truth: { labels: ["A", "B", "A"], classes: ["A", "B"], positive: "B" },
};
const numbers: SubmissionForm = {
  ...labels,
  values: "numbers",
  truth: { labels: ["1", "2", "3"], classes: [], positive: "" },
};
const probabilities: SubmissionForm = { ...labels, values: "probabilities" };
const perClass: SubmissionForm = {
  ...probabilities,
  truth: { labels: ["A", "B", "C"], classes: ["A", "B", "C"], positive: "C" },
};

const read = (text: string, form: SubmissionForm) => readSubmission(Buffer.from(text), form);

function rowCount(text: string): number {
  return readCsv(text).rows.length;
}

describe("CSV", () => {
  it("reads quotes, line breaks in fields, and either kind of line end", () => {
    const { header, rows } = readCsv('\uFEFFid,"a ""b"""\r\n1,"x\ny, z"\n\n2,\n3');
    expect(header).toEqual(["id", 'a "b"']);
    expect(rows).toEqual([["1", "x\ny, z"], ["2", ""], ["3"]]);
  });

  it("reads what it writes", () => {
    const field = fc.string({ maxLength: 8 }).map((text) => text.replaceAll("\r", ""));
    const table = fc.array(fc.tuple(field, field, field), { maxLength: 6 });
    fc.assert(
      fc.property(table, (rows) => {
        const written = writeCsv({ header: ["a", "b", "c"], rows });
        expect(readCsv(written).rows).toEqual(rows);
      }),
    );
  });

  it("has a limited number of fields and rows", () => {
    const { header, rows } = readCsv(`${",".repeat(50_000)}\n${"1\n".repeat(50)}`, 20);
    expect([header.length, rows.length]).toEqual([10_000, 20]);
  });

  it("never throws and always ends", () => {
    const text = fc.string({ unit: fc.constantFrom('"', ",", "\n", "\r", "a") });
    fc.assert(fc.property(text, (given) => rowCount(given) <= given.length));
    expect(rowCount("a\n1\n2")).toBe(2);
  });
});

describe("a submission", () => {
  it("may predict a class whose name looks like a missing value", () => {
    const truth = { labels: ["None", "NA", "None"], classes: ["NA", "None"], positive: "None" };
    const form = { ...labels, truth };
    const text = "id,grade\n1,None\n2,None\n3,NA\n";
    expect(read(text, form)).toEqual({ predictions: { labels: ["None", "None", "NA"], numbers: [] } });
    expect(read("id,grade\n1,None\n2,nan\n3,NA\n", form)).toMatchObject({
      problem: expect.stringContaining("its value is missing") as string,
    });
  });

  it("is joined by id, whatever the order of rows and columns", () => {
    const text = "extra,grade,id\nx,B,3\nx,A,1\nx,B,2\n";
    expect(read(text, labels)).toEqual({ predictions: { labels: ["A", "B", "B"], numbers: [] } });
    expect(read("id,grade\n3,30\n1,1e1\n2,20.5\n", numbers)).toEqual({
      predictions: { labels: [], numbers: [[10], [20.5], [30]] },
    });
  });

  it("may write ids and labels as other programs do", () => {
    expect(read("id,grade\n1.0,A \n 2.0,B\n3.0,A\n", labels)).toHaveProperty("predictions");
    expect(["1.0", "007", "true", " x ", "1e3", "-0"].map(canonical)).toEqual([
      "1",
      "7",
      "True",
      "x",
      "1000",
      "0",
    ]);
  });

  it("may have a column of probabilities for each of several classes", () => {
    expect(read("id,A,B,C\n1,1,0,0\n2,.2,.2,.6\n3,0,0,1\n", perClass)).toEqual({
      predictions: {
        labels: [],
        numbers: [
          [1, 0, 0],
          [0.2, 0.2, 0.6],
          [0, 0, 1],
        ],
      },
    });
  });

  it.each([
    ["", labels, "it is empty"],
    ["id,grade\n", labels, "it has no rows"],
    ["id,label\n1,A\n", labels, "it has no column “grade”; its columns are “id”, “label”"],
    ["id,grade\n1,A\n1,B\n2,A\n3,A\n", labels, "the id “1” occurs twice"],
    ["id,grade\n1,A\n3,A\n", labels, "1 of 3 ids of the test set are missing, such as “2”"],
    ["id,grade\n1,A\n2,A\n3,A\n4,A\n", labels, "1 ids are not in the test set, such as “4”"],
    ["id,grade\n1,A\n2,nan\n3,A\n", labels, "the row with id “2”: its value is missing"],
    ["id,grade\n1,A\n2\n3,A\n", labels, "the row with id “2”: its value is missing"],
    ["id,grade\n1,A\n2,C\n3,A\n", labels, "the row with id “2”: “C” is not one of the classes “A”, “B”"],
    ["id,grade\n1,1\n2,high\n3,3\n", numbers, "the row with id “2”: “high” is not a number"],
    ["id,grade\n1,1\n2,inf\n3,3\n", numbers, "the row with id “2”: “inf” is not a number"],
    ["id,grade\n1,1\n2,1e999\n3,3\n", numbers, "the row with id “2”: “1e999” is not a number"],
    ["id,grade\n1,.1\n2,1.5\n3,.3\n", probabilities, "the row with id “2”: “1.5” is not a probability"],
    ["id,A,C\n1,1,0\n", perClass, "it has no column “B”; its columns are “id”, “A”, “C”"],
    ["id,A,B,C\n1,0,0,0\n2,1,0,0\n3,1,0,0\n", perClass, "the row with id “1”: all probabilities are 0"],
  ] as const)("%j is rejected", (text, form, problem) => {
    expect(read(text, form)).toEqual({ problem });
  });

  it("may be any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(readSubmission(bytes, labels)).toHaveProperty("problem");
      }),
    );
  });
});
