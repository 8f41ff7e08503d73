import { expect, it } from "vitest";
import { csvLines, tableOf } from "./tables.ts";

it("has a column for each value that any step has, and leaves empty what a step has not", () => {
  const records = [
    { step: 1, stage: "warm-start", policies: { shared: { loss: 0.5 } } },
    { step: 2, stage: 'a "b", c', policies: { shared: { loss: 1e-7, kl: 0 } }, rollout: { success: 0.25 } },
    { step: 3, rollout: { success: null, parts: {} } },
  ];
  expect(csvLines(tableOf(records))).toEqual([
    "step,stage,policies.shared.loss,policies.shared.kl,rollout.success",
    "1,warm-start,0.5,,",
    '2,"a ""b"", c",1e-7,0,0.25',
    "3,,,,",
  ]);
  expect(csvLines(tableOf([]))).toEqual([""]);
});

it("has no cell that a spreadsheet runs, or that controls a terminal", () => {
  const texts = ["=1+1", "@SUM(A1)", "+cmd", "-2+3", "-1.5", "\tx", "a\u202eb\u001b[31m"];
  const rows = texts.map((stage) => csvLines(tableOf([{ stage }]))[1]);
  expect(rows).toEqual(["'=1+1", "'@SUM(A1)", "'+cmd", "'-2+3", "-1.5", "'\tx", "a\ufffdb\ufffd[31m"]);
  expect(csvLines(tableOf([{ loss: -1.5 }]))[1]).toBe("-1.5");
});
