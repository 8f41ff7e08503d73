import fs from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { drawnEpisodes, writeRun } from "../../view/testing/written-run.ts";
import { troupe } from "../testing/command.ts";

it("exports with exit code 0", { timeout: 120_000 }, async () => {
  const root = temporaryFolder();
  await writeRun(path.join(root, "run"), drawnEpisodes(1, 60));
  const { code, stdout, stderr } = await troupe(["view", "run", "--export", "run.html"], { cwd: root });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("run.html has run.");
  expect((await fs.stat(path.join(root, "run.html"))).size).toBeGreaterThan(10_000);
});
