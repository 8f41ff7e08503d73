import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { rightRecipe, testCatalog } from "./fixtures/catalog.ts";
import { resolveRecipe } from "./resolve.ts";
import { recipeWarnings, showWarning } from "./validation/warnings.ts";

const folder = temporaryFolder();

const warm = "  warmupSteps: 3\n";
// Both stages of the lowest layer have a warm-up of three steps.
write("base.yaml", rightRecipe.replaceAll(/( {2}steps: .*\n)/g, `$1${warm}`));
write("short.yaml", "extends: base.yaml\nname: short\ntrain: { steps: 2 }\nwarmStart: { steps: 1 }\n");
write("long.yaml", "extends: short.yaml\nname: long\ntrain: { steps: 4 }\n");
write("warmer.yaml", "extends: base.yaml\nname: warmer\ntrain: { warmupSteps: 5 }\n");
write("both.yaml", "extends: base.yaml\nname: both\ntrain: { steps: 2, warmupSteps: 2 }\n");

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

async function warmUps(name: string, ...overrides: readonly string[]) {
  const resolved = await resolveRecipe(join(folder, `${name}.yaml`), overrides, testCatalog);
  const { train, warmStart } = resolved.recipe;
  return { train: train.warmupSteps, warmStart: warmStart?.warmupSteps, warnings: recipeWarnings(resolved) };
}

describe("a warm-up", () => {
  it("is shortened with a warning if a higher layer sets fewer steps", async () => {
    const { train, warmStart, warnings } = await warmUps("base", "train.steps=2");
    expect({ train, warmStart }).toEqual({ train: 1, warmStart: 3 });
    expect(warnings.map(showWarning)).toEqual([
      "warning: train.warmupSteps: shortened from 3 to 1 to fit train.steps=2; choose it yourself with train.warmupSteps=…",
    ]);
    expect(await warmUps("short")).toMatchObject({ train: 1, warmStart: 0, warnings: [{}, {}] });
    expect(await warmUps("short", "train.steps=1")).toMatchObject({ train: 0, warmStart: 0 });
  });

  it("is kept if it fits, whatever a layer in between sets", async () => {
    expect(await warmUps("base")).toEqual({ train: 3, warmStart: 3, warnings: [] });
    expect(await warmUps("long")).toMatchObject({ train: 3, warmStart: 0, warnings: [{}] });
    expect(await warmUps("short", "train.steps=4", "warmStart.steps=4")).toMatchObject({
      train: 3,
      warmStart: 3,
    });
    expect(await warmUps("short", "train.warmupSteps=0")).toMatchObject({ train: 0, warnings: [{}] });
    expect(await warmUps("base", "train.steps=0")).toMatchObject({ train: 3, warnings: [] });
  });

  it.each([
    ["base", ["train.warmupSteps=5"], "override `train.warmupSteps=5`"],
    ["base", ["train.warmupSteps=2", "train.steps=2"], "override `train.warmupSteps=2`"],
    ["warmer", [], "warmer.yaml:3:23"],
    ["both", [], "both.yaml:3:33"],
  ])(
    "in the layer that sets the steps, or a higher one, is rejected: %s %j",
    async (name, overrides, place) => {
      await expect(warmUps(name, ...overrides)).rejects.toThrow(`${place}: train.warmupSteps: a warm-up of`);
    },
  );
});
