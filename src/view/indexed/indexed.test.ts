import fs from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../../models/test-model.ts";
import { readEpisodes, type StoredEpisode } from "../../rollout/stored.ts";
import { layoutOf } from "../../runs/layout.ts";
import type { Filter } from "../api.ts";
import { Entries } from "../entries.ts";
import { reasonsDropped } from "../dropped.ts";
import { listOf, matching } from "../list.ts";
import { drawnEpisodes, hostileTexts, writeEpisodes, writeRun } from "../testing/written-run.ts";
import { IndexColumns } from "./columns.ts";
import { folded } from "./fold.ts";
import { fileNames } from "./format.ts";
import { Search } from "./search.ts";
import { FoundTexts, type RunningSearch } from "./searches.ts";
import { IndexTexts } from "./texts.ts";
import { IndexWriter } from "./writer.ts";

const root = temporaryFolder();
let [run, folder, number] = ["", "", 0];
const open: { readonly close: () => void }[] = [];
const template = path.join(root, "template");
beforeAll(() => writeRun(template, drawnEpisodes(1, 60)));
beforeEach(async () => {
  run = path.join(root, `run-${number++}`);
  folder = path.join(run, "view");
  await fs.cp(template, run, { recursive: true });
  await fs.mkdir(folder);
});
afterAll(() => {
  for (const one of open) one.close();
});

interface Indexed {
  readonly entries: Entries;
  readonly columns: IndexColumns;
  readonly generation: string;
}

/** Builds or extends the index, and reads it. */
async function indexed(): Promise<Indexed> {
  const entries = new Entries(run);
  await entries.refresh();
  const writer = await IndexWriter.open(run, folder, entries);
  await writer.extend(entries, () => {});
  const columns = await IndexColumns.read(folder, writer.head, null);
  open.push(columns);
  return { entries, columns, generation: writer.head.generation };
}

/** All at once, in this thread. */
async function searched(text: string, { head }: IndexColumns): Promise<RunningSearch> {
  const [texts, search, found] = [
    await IndexTexts.read(folder, head, null),
    new Search(text),
    new FoundTexts(),
  ];
  open.push(texts);
  while (search.searched < texts.blocks)
    found.add(Uint32Array.from(search.slice(texts, 0)), search.searched, texts.blocks);
  return { found, excerpts: async (rows) => rows.map((row) => search.excerpt(texts, row)) };
}

async function idsFound(filter: Filter, { entries, columns }: Indexed): Promise<readonly string[]> {
  const search = filter.text === undefined ? null : await searched(filter.text, columns);
  const listed = { entries, columns, search };
  const all = matching(listed, filter);
  const ids: string[] = [];
  let before: number | null = null;
  do {
    const list = await listOf(listed, filter, { all, before, limit: 7 });
    expect(list).toMatchObject({ total: all.length, isExact: true, searched: 1 });
    const wanted = filter.text === undefined ? undefined : folded(filter.text.replaceAll("\0", " "));
    const matches = list.episodes.map(({ found }) => found && folded(found.match));
    expect(matches).toEqual(list.episodes.map(() => wanted));
    ids.push(...list.episodes.map(({ id }) => id));
    before = list.cursor === null ? null : Number(list.cursor);
  } while (before !== null);
  return ids;
}

/** Whether an episode matches, from its record. */
function holds(stored: StoredEpisode, filter: Filter): boolean {
  const { episode, entry, promptText } = stored;
  const dropped = reasonsDropped(stored);
  const edges = episode.nodes.flatMap(({ actions }) => actions);
  const end = entry.branched === true ? "0" : episode.nodes.at(-1)?.id;
  const scores =
    episode.nodes
      .find(({ id }) => id === end)
      ?.actions.flatMap(({ verdict }) => (verdict && "score" in verdict ? verdict.score : [])) ?? [];
  const isDisputed = scores.length > 0 && (scores[0] ?? 0) >= 0.5 !== (entry.success === 1);
  const isBlamed = edges.some(
    ({ verdict }) => verdict && "blame" in verdict && verdict.blame === filter.blamed,
  );
  if (filter.blamed !== undefined && !isBlamed) return false;
  if (filter.disagree !== undefined && isDisputed !== filter.disagree) return false;
  if (filter.failed !== undefined && entry.success < 1 !== filter.failed) return false;
  if (filter.from !== undefined && (filter.from === "train") !== (entry.evaluation === undefined))
    return false;
  return edges.some(({ action: id, reward }) => {
    const action = episode.actions.find((one) => one.id === id);
    const total = reward === null ? NaN : Math.fround(reward.team + reward.local);
    const [low, high] = (filter.reward ?? [-Infinity, Infinity]).map(Math.fround);
    const wanted = folded((filter.text ?? "").replaceAll("\0", " "));
    const texts = [action?.reply.text ?? "", action === undefined ? "" : promptText(action)];
    return (
      (filter.role === undefined || action?.role === filter.role) &&
      (filter.truncated === undefined || (action?.stopReason === "length") === filter.truncated) &&
      (filter.dropped === undefined || dropped.has(id) === filter.dropped) &&
      (filter.reward === undefined || (total >= (low ?? 0) && total <= (high ?? 0))) &&
      texts.some((text) => folded(text.replaceAll("\0", " ").toWellFormed()).includes(wanted))
    );
  });
}

/** The index finds what the records hold. */
async function expectFound(some: readonly Filter[] = filters): Promise<void> {
  const stored: StoredEpisode[] = [];
  for await (const one of readEpisodes(run)) stored.unshift(one);
  const opened = await indexed();
  for (const filter of some) {
    const held = stored.filter((one) => holds(one, filter)).map(({ entry }) => entry.id);
    expect([filter, await idsFound(filter, opened)]).toEqual([filter, held]);
  }
}

const filters: readonly Filter[] = [
  {},
  { role: "planner" },
  { role: "nobody" },
  { truncated: true, role: "runner" },
  { truncated: false },
  { reward: [0.3, 0.7] },
  { reward: [0.2, 0.2], role: "planner", from: "train" },
  { dropped: true },
  { dropped: false, truncated: true },
  { blamed: "planner", failed: true },
  { blamed: "who" },
  { disagree: true },
  { disagree: false, from: "evaluation" },
  { text: "RIGHT down" },
  { text: "éclair", truncated: true },
  { text: "a1", role: "runner", reward: [1, 2] },
  { text: "nothing has this" },
  { text: "x" },
  { text: "Planner: " },
  ...hostileTexts.map((text) => ({ text: text.toWellFormed() })),
  { text: "i̇stanbul" },
  { text: "istanbul σίσυφοσ" },
];

describe("the index", () => {
  it("finds what the records hold", async () => {
    await expectFound();
    const opened = await indexed();
    const counts = await Promise.all(filters.map(async (filter) => (await idsFound(filter, opened)).length));
    expect(counts[0]).toBe(60);
    expect(counts.filter((count) => count > 0 && count < 60).length).toBeGreaterThan(10);
  });

  it("is reused, and extended as the run grows", async () => {
    const { generation } = await indexed();
    await writeEpisodes(run, drawnEpisodes(2, 20));
    const again = await indexed();
    expect([again.generation, again.columns.head.episodes]).toEqual([generation, 80]);
    await expectFound();
  });

  it("is built again if the run was cut, whatever follows", async () => {
    const { generation } = await indexed();
    await writeEpisodes(run, drawnEpisodes(3, 40), 30);
    const again = await indexed();
    expect(again.generation).not.toBe(generation);
    expect(again.columns.head.episodes).toBe(70);
    await expectFound();
  });

  it.each([...fileNames, "head"])("is built again if a byte of %s was changed, or lost", async (name) => {
    const file = path.join(folder, name === "head" ? "head.json" : `${name}.bin`);
    for (const damage of ["changed", "lost"]) {
      await indexed();
      const bytes = await fs.readFile(file);
      const at = Math.floor(bytes.length / 2);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await fs.writeFile(file, damage === "lost" ? bytes.subarray(0, at) : bytes);
      expect((await indexed()).columns.head.episodes).toBe(60);
      await expectFound(filters.slice(10));
    }
  });

  it("is built again if a role's name or a count was changed in its head", async () => {
    const file = path.join(folder, "head.json");
    for (const [before, after] of [
      ['"planner"', '"plannex"'],
      ['"distinct":1', '"distinct":2'],
    ] as const) {
      const { generation } = await indexed();
      const text = await fs.readFile(file, "utf8");
      expect(text).toContain(before);
      await fs.writeFile(file, text.replace(before, after));
      expect((await indexed()).generation).not.toBe(generation);
    }
    await expectFound([{ role: "planner" }]);
  });

  it("calls no total exact that was counted before the search ended", async () => {
    const { entries, columns } = await indexed();
    const [texts, search, found] = [
      await IndexTexts.read(folder, columns.head, null),
      new Search("right"),
      new FoundTexts(),
    ];
    open.push(texts);
    const rows = Uint32Array.from(search.slice(texts, Infinity));
    const excerpts = async () => {
      found.add(rows, search.searched, texts.blocks);
      return [];
    };
    const [listed, filter] = [{ entries, columns, search: { found, excerpts } }, { text: "right" }];
    const list = await listOf(listed, filter, { all: matching(listed, filter), before: null, limit: 7 });
    expect(list).toMatchObject({ total: 0, isExact: false, searched: 0 });
    expect(matching(listed, filter).length).toBeGreaterThan(0);
  });

  it("ends at an episode that is damaged, says which, and goes on once it is restored", async () => {
    const file = layoutOf(run).episodeData;
    const whole = await fs.readFile(file);
    const entries = new Entries(run);
    await entries.refresh();
    const { id, episode } = await entries.entry(40);
    const bytes = Buffer.from(whole);
    bytes.fill(0, episode[0] + 20, episode[1] - 8);
    await fs.writeFile(file, bytes);
    const writer = await IndexWriter.open(run, folder, entries);
    await expect(writer.extend(entries, () => {})).rejects.toThrow(`the episode ${id} cannot be read`);
    expect(writer.head.episodes).toBe(40);
    await fs.writeFile(file, whole);
    await writer.extend(entries, () => {});
    expect(writer.head.episodes).toBe(60);
    await expectFound();
  });

  it("is exact after a disk was full in the middle of a write", async () => {
    const entries = new Entries(run);
    await entries.refresh();
    const writer = await IndexWriter.open(run, folder, entries);
    const last = path.join(folder, "ids.bin");
    await fs.rename(last, `${last}.away`);
    // Nothing can be written there, as on a full disk: the files before it have the new rows already.
    await fs.mkdir(last);
    await expect(writer.extend(entries, () => {})).rejects.toThrow("EISDIR");
    await fs.rmdir(last);
    await fs.rename(`${last}.away`, last);
    await fs.appendFile(last, "part of a write");
    await writer.extend(entries, () => {});
    expect(writer.head.episodes).toBe(60);
    // It is not built again, as it would be if a file were not as its sum says.
    expect((await indexed()).generation).toBe(writer.head.generation);
    await expectFound(filters.slice(10));
  });

  it("is not read through a link", async () => {
    const { columns } = await indexed();
    for (const name of fileNames) {
      const file = path.join(folder, `${name}.bin`);
      await fs.rename(file, `${file}.away`);
      await fs.symlink(`${file}.away`, file);
      const read = Promise.all([
        IndexColumns.read(folder, columns.head, null),
        IndexTexts.read(folder, columns.head, null),
      ]);
      await expect(read).rejects.toThrow("ELOOP");
      await fs.rename(`${file}.away`, file);
    }
  });

  it("is built again if a file is gone, shorter or a link while it grows", async () => {
    const { entries } = await indexed();
    const [file, victim] = [path.join(folder, "texts.bin"), path.join(root, "victim")];
    await fs.writeFile(victim, "precious");
    const writer = await IndexWriter.open(run, folder, entries);
    for (const damage of [
      () => fs.rm(file),
      () => fs.truncate(file, 4),
      () => fs.rm(folder, { recursive: true }),
    ]) {
      await damage();
      await writeEpisodes(run, drawnEpisodes(2, 5));
      await entries.refresh();
      await expect(writer.extend(entries, () => {})).rejects.toThrow("The index is built again");
      await writer.extend(entries, () => {});
      expect(writer.head.episodes).toBe(entries.count);
      await expectFound(filters.slice(10));
    }
    await fs.rm(file);
    await fs.symlink(victim, file);
    await writeEpisodes(run, drawnEpisodes(2, 5));
    await entries.refresh();
    await expect(writer.extend(entries, () => {})).rejects.toThrow("ELOOP");
    expect(await fs.readFile(victim, "utf8")).toBe("precious");
  });
});
