import fs from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { drawnEpisodes, writeRun } from "../../view/testing/written-run.ts";
import { troupe } from "../testing/command.ts";

it("exports with exit code 0", { timeout: 120_000 }, async () => {
  const root = temporaryFolder();
  await writeRun(path.join(root, "run"), drawnEpisodes(1, 60));
  // By its name and its folder, it is the same run.
  const given = ["view", "run", "./run/", "--export", "run.html"];
  const { code, stdout, stderr } = await troupe(given, { cwd: root });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("run.html has run.\n");
  expect((await fs.stat(path.join(root, "run.html"))).size).toBeGreaterThan(10_000);
});

it("says that a folder has no runs, and how it ends", { timeout: 120_000 }, async () => {
  const root = temporaryFolder();
  const { stdout, stderr } = await troupe("view --runs none", {
    cwd: root,
    watch: (output, interrupt) => output.includes("Ctrl-C") && interrupt(),
  });
  expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\n$/);
  expect(stderr).toContain("none has no runs yet");
});
