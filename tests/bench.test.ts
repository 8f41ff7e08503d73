/** The benchmark runs and its numbers are numbers. What they are is not tested: they belong to the machine. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";

const main = path.join(import.meta.dirname, "..", "bench", "main.ts");

function bench(...options: string[]) {
  return spawnSync(process.execPath, [main, ...options], { encoding: "utf8" });
}

describe("npm run bench", () => {
  it("measures the rules of the games", () => {
    const { status, stdout } = bench("--game", "--seconds", "0.01", "--json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toBeTypeOf("object");
    expect(stdout).toMatch(/"transitionsPerSecond": [1-9]/);
    expect(stdout).not.toContain("null"); // what JSON makes of a rate that is not a number
  });

  it("refuses a size it does not have, and says which there are", () => {
    const { status, stderr } = bench("--models", "2M");
    expect(status).toBe(1);
    expect(stderr).toContain('--models: there is no "2M"; there is 1M, 4M, 25M.');
  });
});
