import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { layoutOf } from "../../runs/layout.ts";
import { atEndOfFile } from "../../test-end.ts";
import { drawnEpisodes, writeEpisodes, writeRun } from "../testing/written-run.ts";
import { RunIndex } from "./run-index.ts";

const root = temporaryFolder();
vi.stubEnv("TROUPE_CACHE", path.join(root, "cache"));

// The tests wait for threads that look at their runs once in a second: all at the same time.
function indexOf(run: string): RunIndex {
  const index = new RunIndex({ run });
  atEndOfFile(() => index.close());
  return index;
}

async function episodesOf(index: RunIndex, count: number): Promise<void> {
  await vi.waitFor(
    () => expect([index.columns?.head.episodes, index.problem]).toEqual([count, null]),
    60_000,
  );
}

it.concurrent("ends although nothing else keeps the process", async () => {
  const run = path.join(root, "short");
  await writeRun(run, drawnEpisodes(1, 5));
  const program = `
    const { RunIndex } = await import(${JSON.stringify(new URL("run-index.ts", import.meta.url))});
    await new RunIndex({ run: ${JSON.stringify(run)} }).close();
    console.log("closed");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toBe("closed\n");
});

it.concurrent("says what is wrong with a damaged run, and goes on once it is restored", async () => {
  const run = path.join(root, "damaged");
  await writeRun(run, drawnEpisodes(1, 5));
  const file = layoutOf(run).episodeIndex;
  const whole = await fs.readFile(file);
  await fs.writeFile(file, `no json\n${whole.toString("utf8")}`);
  const index = indexOf(run);
  await vi.waitFor(() => expect(index.problem).toContain("index.jsonl:1 is not"), 60_000);
  await fs.writeFile(file, whole);
  await episodesOf(index, 5);
});

it.concurrent("follows no link in a run of somebody else", async () => {
  const victim = path.join(root, "victim");
  await fs.writeFile(victim, "precious");
  const followed = async (name: string): Promise<void> => {
    const run = path.join(root, `links-${name}`);
    await writeRun(run, drawnEpisodes(1, 5));
    await fs.mkdir(layoutOf(run).view);
    await fs.symlink(victim, path.join(layoutOf(run).view, name));
    await episodesOf(indexOf(run), 5);
    expect(await fs.readFile(victim, "utf8")).toBe("precious");
  };
  await Promise.all(["ids.bin", "head.json.new", "contents.bin"].map(followed));
  const [run, outside] = [path.join(root, "linked"), path.join(root, "outside")];
  await fs.mkdir(outside);
  await fs.writeFile(path.join(outside, "ids.bin"), "precious");
  await writeRun(run, drawnEpisodes(1, 5));
  await fs.symlink(outside, layoutOf(run).view);
  await episodesOf(indexOf(run), 5);
  expect(await fs.readdir(outside)).toEqual(["ids.bin"]);
  expect(await fs.readFile(path.join(outside, "ids.bin"), "utf8")).toBe("precious");
});

it.concurrent("follows no link that is put there while it is open", async () => {
  const run = path.join(root, "swapped");
  await writeRun(run, drawnEpisodes(1, 5));
  const { view } = layoutOf(run);
  const outside = path.join(root, "elsewhere");
  const index = indexOf(run);
  await episodesOf(index, 5);
  await fs.cp(view, outside, { recursive: true });
  const contents = async () =>
    Promise.all((await fs.readdir(outside)).map((name) => fs.readFile(path.join(outside, name), "hex")));
  const before = await contents();
  await fs.rm(path.join(view, "episodes.bin"));
  await fs.symlink(path.join(outside, "episodes.bin"), path.join(view, "episodes.bin"));
  await writeEpisodes(run, drawnEpisodes(2, 3));
  await episodesOf(index, 8);
  await fs.rm(view, { recursive: true });
  await fs.symlink(outside, view);
  await writeEpisodes(run, drawnEpisodes(3, 3));
  await episodesOf(index, 11);
  expect(await contents()).toEqual(before);
});

it.concurrent("builds the index again if its folder is removed while it is open", async () => {
  const run = path.join(root, "removed");
  await writeRun(run, drawnEpisodes(1, 5));
  const index = indexOf(run);
  await episodesOf(index, 5);
  await fs.rm(layoutOf(run).view, { recursive: true });
  await vi.waitFor(async () => expect(await fs.readdir(run)).toContain("view"), 60_000);
  await writeEpisodes(run, drawnEpisodes(2, 3));
  await episodesOf(index, 8);
  expect(await fs.readdir(layoutOf(run).view)).toContain("head.json");
});

it.concurrent("indexes a new run of the name of one that was removed, and does not bring that back", async () => {
  const run = path.join(root, "again");
  await writeRun(run, drawnEpisodes(1, 5));
  const index = indexOf(run);
  await episodesOf(index, 5);
  await fs.rm(run, { recursive: true });
  await vi.waitFor(() => expect(index.problem).toContain("ENOENT"), 60_000);
  await expect(fs.stat(run)).rejects.toThrow("ENOENT");
  await writeRun(run, drawnEpisodes(2, 7));
  await episodesOf(index, 7);
  expect(await fs.readdir(layoutOf(run).view)).toContain("head.json");
});
