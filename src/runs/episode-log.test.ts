import fs from "node:fs/promises";
import path from "node:path";
import { gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../test-end.ts";
import { EpisodeLog, type NewEpisode } from "./episode-log.ts";
import { layoutOf, type RunLayout } from "./layout.ts";
import { readEpisodeIndex, readEpisodeRecords } from "./read-episodes.ts";

let directory = "";
let layout: RunLayout;
beforeEach(() => {
  directory = temporaryFolder();
  layout = layoutOf(directory);
});

/** An episode with a prompt of its own and a shared one. */
function episodeOf(step: number): NewEpisode {
  const id = `train/${step}/0`;
  const prompts = new Map(
    ["all", id].map((text) => [text, { rest: () => ({ tokens: [text.length], text }) }] as const),
  );
  return {
    entry: { id, step, success: 0, score: 0.5 },
    record: { episode: { id, said: "é".repeat(step) } },
    prompts,
  };
}

async function logOf(steps: readonly number[], keep = (_step: number): boolean => true): Promise<void> {
  const log = await EpisodeLog.open(layout, ({ step }) => keep(step));
  await Promise.all(steps.map((step) => log.append(episodeOf(step))));
  await log.sync();
}

/** What is read of each episode: its actions, and the text of its prompts. */
async function readAll(): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { record, prompts } of readEpisodeRecords(directory, await readEpisodeIndex(directory)))
    found.push([record, [...prompts.values()].map(({ text }) => text)]);
  return found;
}

const written = (steps: readonly number[]) =>
  steps.map((step) => {
    const { entry, record } = episodeOf(step);
    return [expect.objectContaining({ ...entry, ...record }), ["all", entry.id]];
  });

const files = (): string[] => [layout.promptData, layout.episodeData, layout.episodeIndex];
const contents = (): Promise<Buffer[]> => Promise.all(files().map((file) => fs.readFile(file)));

describe("a run's episodes", () => {
  it("are read as written, in the order of the calls", async () => {
    expect(await readEpisodeIndex(directory)).toEqual([]);
    await logOf([1, 2, 3]);
    expect(await readAll()).toEqual(written([1, 2, 3]));
  });

  it("are plain gzip files, with every prompt once, even after reopening the run", async () => {
    await logOf([1, 2]);
    await logOf([3]);
    const [prompts = "", episodes = ""] = (await contents()).map((bytes, at) =>
      at < 2 ? gunzipSync(bytes).toString() : "",
    );
    const texts = prompts
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { text: string }).text);
    expect(texts).toEqual(["all", "train/1/0", "train/2/0", "train/3/0"]);
    expect(episodes.trim().split("\n")).toHaveLength(3);
    expect(await readAll()).toEqual(written([1, 2, 3]));
  });

  it("are truncated at the first one that is not kept", async () => {
    await logOf([1, 2, 3, 4]);
    await logOf([], (step) => step < 3);
    expect(await readAll()).toEqual(written([1, 2]));
    await logOf([3, 4]);
    const again = await contents();
    await fs.rm(layout.episodes, { recursive: true });
    await logOf([1, 2, 3, 4]);
    expect(again).toEqual(await contents());
  });

  it("that were being written when the process was killed, at any byte, are written again identically", async () => {
    const steps = [1, 2, 3];
    const states: Buffer[][] = [[Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)]];
    for (const step of steps) {
      await logOf([step]);
      states.push(await contents());
    }
    await fc.assert(
      fc.asyncProperty(
        fc.nat(steps.length - 1),
        fc.nat(2),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        async (before, file, share) => {
          // Files before `file` were written completely, `file` in part, later ones not yet.
          for (const [at, name] of files().entries()) {
            const [old, next] = [states[before]?.[at], states[before + 1]?.[at]].map(
              (one) => one ?? Buffer.alloc(0),
            );
            const [from, to] = [old?.length ?? 0, next?.length ?? 0];
            const end = at < file ? to : at === file ? from + Math.floor(share * (to - from)) : from;
            await fs.writeFile(name, next?.subarray(0, end) ?? "");
          }
          expect(await readAll()).toEqual(written(steps.slice(0, before)));
          await logOf(steps.slice(before));
          expect(await contents()).toEqual(states.at(-1));
        },
      ),
      { numRuns: 40 },
    );
  });
});

const damaged = (problem: string) => ({
  code: "bad_run",
  message: expect.stringContaining(problem) as string,
});

describe("a damaged run", () => {
  it.each(["episodes", "prompts"])(
    "with changed bytes in %s is reported with their position",
    async (name) => {
      await logOf([1, 2]);
      const file = path.join(layout.episodes, `${name}.jsonl.gz`);
      const bytes = await fs.readFile(file);
      bytes.fill(0, bytes.length - 20, bytes.length - 8);
      await fs.writeFile(file, bytes);
      const problem = `${name}\\.jsonl\\.gz is damaged: .*, in bytes \\d+ to \\d+\\. Restore the file`;
      await expect(readAll()).rejects.toMatchObject({
        code: "bad_run",
        message: expect.stringMatching(problem),
      });
    },
  );

  it("with a prompt that continues itself are damaged", async () => {
    await logOf([]);
    const prompt = { rest: () => ({ tokens: [1], text: "" }) };
    const prompts = new Map([
      ["a", { ...prompt, base: "b" }],
      ["b", { ...prompt, base: "a" }],
    ]);
    const log = await EpisodeLog.open(layout, () => true);
    await log.append({ ...episodeOf(1), prompts });
    await expect(readAll()).rejects.toMatchObject(damaged("the prompt a continues itself"));
  });

  it("whose index needs more bytes than fit in memory report that they are missing", async () => {
    await logOf([1]);
    const [entry] = await readEpisodeIndex(directory);
    await fs.writeFile(layout.episodeIndex, `${JSON.stringify({ ...entry, episode: [0, 2 ** 45] })}\n`);
    await expect(readAll()).rejects.toMatchObject(damaged("the file ends before"));
  });

  it("with fewer bytes than the index needs is not continued", async () => {
    await logOf([1, 2]);
    await fs.truncate(layout.episodeData, 40);
    await expect(readAll()).rejects.toMatchObject(damaged("the file ends before"));
    await expect(logOf([3])).rejects.toThrow(
      /episodes\.jsonl\.gz has 40 bytes, but the index of episodes needs \d+/,
    );
  });

  it("with an invalid line in the index are reported with that line", async () => {
    await logOf([1, 2]);
    await fs.writeFile(
      layout.episodeIndex,
      `{"schema_version":1}\n${await fs.readFile(layout.episodeIndex, "utf8")}`,
    );
    await expect(readEpisodeIndex(directory)).rejects.toThrow(/index\.jsonl:1 is invalid/);
  });
});
