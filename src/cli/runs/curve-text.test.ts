import { expect, it } from "vitest";
import { curveText } from "./curve-text.ts";

it("shows whole labels where all values are 0", () => {
  const points = [0, 1, 2].map((step) => ({ step, value: 0 }));
  const lines = curveText([{ name: "flat", points }], "success", { columns: 60 }).split("\n");
  const labels = lines.flatMap((line) => /^ *([\d.]+)┤/.exec(line)?.[1] ?? []);
  expect(labels).toEqual(["1.00", "0.800", "0.600", "0.400", "0.200", "0"]);
});
