import { describe, expect, it } from "vitest";
import { isSameTraining, trainingLines } from "./same-training.ts";

const recipe = (environment: string, more = "train: { steps: 3 }"): string =>
  `name: x\ndescription: one\nenvironment:\n${environment}\n${more}\n`;

const here = "  module: ../../coins.ts\n  moduleHash: aa";

describe("isSameTraining", () => {
  it("leaves out what is for people", () => {
    expect(isSameTraining(recipe(here), recipe(here).replace("one", "two"))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(here, "train: { steps: 4 }"))).toBe(false);
  });

  it("takes a module of the same contents for the same wherever it lies, and a changed one where it lay", () => {
    const elsewhere = "  module: ../../../games/coins.ts\n  moduleHash: aa";
    const changed = "  module: ../../coins.ts\n  moduleHash: bb";
    const other = "  module: ../../other.ts\n  moduleHash: bb";
    expect(isSameTraining(recipe(here), recipe(elsewhere))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(changed))).toBe(true);
    expect(isSameTraining(recipe(here), recipe(other))).toBe(false);
    expect(isSameTraining(recipe(here), recipe(`${elsewhere}\n  size: 3`))).toBe(false);
  });

  it("shows no line of a hash as a difference", () => {
    expect(trainingLines(recipe(here)).map(({ number }) => number)).toEqual([1, 3, 4, 6, 7]);
  });
});
