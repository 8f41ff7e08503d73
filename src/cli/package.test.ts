import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

describe("the package", () => {
  it("contains the command, the engine's sources, recipes and docs; no binaries, no tests", () => {
    const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
    const packed = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" })) as unknown;
    const [first] = Object.values(packed as Record<string, { files: { path: string; mode: number }[] }>);
    const paths = (first?.files ?? []).map(({ path }) => path);
    for (const path of [
      "bin/troupe.js",
      "native/build.mjs",
      "recipes/plan-path.yaml",
      "recipes/algorithms/grpo.yaml",
      "examples/translation/recipe.yaml",
      "experiments/at-grpo-table.yaml",
      "docs/recipes.md",
      "LICENSE",
    ]) {
      expect(paths).toContain(path);
    }
    const unwanted = /^(native\/(build\/|tests\/)|src\/|tests\/|runs\/|models\/|bench\/)|\.test\.|fixtures/;
    expect(paths.filter((path) => unwanted.test(path))).toEqual([]);
  });
});
