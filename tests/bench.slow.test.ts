/** The benchmark runs and its numbers are numbers. Their values are not tested, because they depend on the machine. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadTokenizer } from "../src/text/tokenizer.ts";

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
    expect(stdout).not.toContain("null"); // // JSON's form of a rate that is not a number
  });

  it("runs test suites in every sandbox that works", () => {
    const { status, stdout } = bench("--sandbox", "--seconds", "0.1", "--threads", "1", "--json");
    expect(status).toBe(0);
    const { sandboxes } = JSON.parse(stdout) as { sandboxes: { name: string; suitesPerSecond: number }[] };
    expect(sandboxes.map(({ name }) => name)).toContain("exec in one process, not isolated");
    expect(sandboxes.every(({ suitesPerSecond }) => suitesPerSecond > 0)).toBe(true);
  });

  it.each(["ours", "library"])("loads a vocabulary in a process of its own (%s)", (whose) => {
    const program = path.join(import.meta.dirname, "..", "bench", "load-vocabulary.ts");
    const fixture = path.join(import.meta.dirname, "fixtures", "text", "qwen3");
    const { status, stdout } = spawnSync(process.execPath, [program, whose, fixture], { encoding: "utf8" });
    expect(status).toBe(0);
    const load = JSON.parse(stdout) as Record<string, number>;
    expect(load["tokens"]).toBe(loadTokenizer(fixture).encode("she goes left").length);
    expect([load["seconds"], load["megabytes"]].every((value) => Number(value) > 0)).toBe(true);
  });

  it("rejects an unknown size, and lists the known ones", () => {
    const { status, stderr } = bench("--models", "2M");
    expect(status).toBe(1);
    expect(stderr).toContain('--models: there is no "2M"; there is 1M, 4M, 25M.');
  });
});
