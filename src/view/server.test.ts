import fs from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { request } from "node:http";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { temporaryFolder } from "../models/test-model.ts";
import { layoutOf } from "../runs/layout.ts";
import { type EpisodeList, type EpisodeView, type Filter, type RunLine, type RunPage } from "./api.ts";
import { exportOf } from "./export.ts";
import { filterIn } from "./filter.ts";
import { answerFrom } from "./page/exported.ts";
import { ViewedRuns } from "./runs.ts";
import { startViewServer, type ViewServer } from "./server.ts";
import { drawnEpisodes, hostileTexts, writeEpisodes, writeRun } from "./testing/written-run.ts";

const root = temporaryFolder();
const [good, bad] = [path.join(root, "good"), path.join(root, "bad")];
let server: ViewServer;
let runs: ViewedRuns;

beforeAll(async () => {
  await writeRun(good, drawnEpisodes(5, 30));
  await writeRun(bad, drawnEpisodes(6, 5));
  await fs.writeFile(layoutOf(bad).metrics, "no json\nnor this\n");
  runs = new ViewedRuns(async () => [good, bad]);
  server = await startViewServer({
    runs,
    port: 0,
    page: async () => "<!doctype html><title>Troupe</title>",
    continueFrom: async (_run, { episode }, emit) => {
      emit({ type: "loading" });
      throw new Error(`no weights for ${episode}`);
    },
  });
});
afterAll(async () => {
  await runs.close();
  await server[Symbol.asyncDispose]();
});

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly headers: NodeJS.Dict<string | string[]>;
}

/** As any program could ask: `fetch` forbids some headers, and tidies paths. */
function ask(
  target: string,
  {
    headers = {},
    method = "GET",
    body = "",
  }: { headers?: Record<string, string>; method?: string; body?: string } = {},
): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const { hostname, port } = new URL(server.url);
  const asked = request({ hostname, port, path: target, method, headers }, (response) => {
    const pieces: Buffer[] = [];
    response.on("data", (piece: Buffer) => pieces.push(piece));
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        body: Buffer.concat(pieces).toString("utf8"),
        headers: response.headers,
      }),
    );
  });
  asked.on("error", reject);
  asked.end(body);
  return promise;
}

async function json<T>(target: string): Promise<T> {
  const { status, body } = await ask(target);
  expect([status, body]).toEqual([200, body]);
  return JSON.parse(body) as T;
}

it("answers only its own page on this machine", async () => {
  const statuses = await Promise.all(
    [
      { host: "evil.example" },
      { host: "127.0.0.1.evil.example" },
      { origin: "http://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { origin: server.url },
      { host: "localhost:1" },
      { host: "LOCALHOST:1" },
    ].map(async (headers) => (await ask("/api/runs", { headers })).status),
  );
  expect(statuses).toEqual([403, 403, 403, 403, 403, 200, 200, 200]);
});

it("opens its page, and nothing else, from a link of another site", async () => {
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const status = async (target: string, changed: Record<string, string> = {}, method = "GET") =>
    (await ask(target, { method, headers: { ...link, ...changed } })).status;
  expect(await status("/")).toBe(200);
  expect(await status("/", { "sec-fetch-dest": "iframe" })).toBe(403);
  expect(await status("/", { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" })).toBe(403);
  expect(await status("/", { host: "evil.example" })).toBe(403);
  expect(await status("/", { origin: "http://evil.example" })).toBe(403);
  expect(await status("/", {}, "POST")).toBe(403);
  expect(await status("/api/runs")).toBe(403);
});

it("has nothing but the page and the runs, and says so in JSON", async () => {
  const targets = [
    "/api/runs/..%2Fgood",
    "/api/runs/../../etc/passwd",
    "/api/runs/good/file?hash=../../recipe.yaml",
    `/api/runs/good/file?hash=${"0".repeat(64)}`,
    "/api/runs/good/episode?id=train/999/0",
    "/api/runs/good/nothing",
    "/api/runs/%E0%A4%A",
    "//evil.example/api/runs",
    "/etc/passwd",
  ];
  for (const target of targets) {
    const { status, body, headers } = await ask(target);
    expect([target, status >= 400, typeof (JSON.parse(body) as { error: unknown }).error]).toEqual([
      target,
      true,
      "string",
    ]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
  }
  expect((await ask("/")).headers["content-type"]).toBe("text/html; charset=utf-8");
});

it("reports damage of a run for that run only", async () => {
  const lines = await json<RunLine[]>("/api/runs");
  expect(lines.map(({ run, state }) => [run, state])).toEqual([
    ["good", "stopped"],
    ["bad", "damaged"],
  ]);
  expect(lines[1]?.problem).toContain("metrics.jsonl");
  expect((await ask("/api/runs/bad/curves")).body).toContain("metrics.jsonl:1");
  expect((await json<RunPage>("/api/runs/good")).roles).toEqual(["planner", "runner"]);
});

/** A filter as the query of an address. */
function queryOf(filter: Filter): URLSearchParams {
  const pairs = Object.entries(filter).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join("~") : String(value)]],
  );
  return new URLSearchParams(pairs);
}

it("answers although a run has a pipe for a recipe, or a file whose line never ends", async () => {
  const [piped, endless] = [path.join(root, "piped"), path.join(root, "endless")];
  await writeRun(piped, []);
  await writeRun(endless, drawnEpisodes(6, 1));
  await fs.rm(layoutOf(piped).recipe);
  execFileSync("mkfifo", [layoutOf(piped).recipe]);
  const { metrics, episodeIndex } = layoutOf(endless);
  for (const file of [metrics, episodeIndex]) {
    await fs.writeFile(file, "");
    await fs.truncate(file, 250 * 2 ** 20);
  }
  const all = new ViewedRuns(async () => [piped, endless, good]);
  expect((await all.lines()).map(({ run, state }) => [run, state])).toEqual([
    ["piped", "damaged"],
    ["endless", "damaged"],
    ["good", "stopped"],
  ]);
  const run = await all.find("endless");
  await expect(run?.curves()).rejects.toThrow("metrics.jsonl is damaged: line 1 has more than");
  const [, changed, other] = await all.changes();
  expect([changed?.index.problem, other?.index.problem]).toEqual([
    expect.stringContaining("index.jsonl is damaged: line 1 has more than"),
    undefined,
  ]);
});

/** Asks until nothing is missing. */
async function listed(filter: Filter, run = "good"): Promise<EpisodeList> {
  for (;;) {
    const list = await json<EpisodeList>(`/api/runs/${run}/episodes?${queryOf(filter).toString()}`);
    if (list.isExact) return list;
    await delay(50);
  }
}

it("searches a run that grows, and one that is cut, without its lock and without changing its records", async () => {
  const before = await fs.readFile(layoutOf(good).episodeData);
  const first = await listed({ text: "goal" });
  expect(await fs.readFile(layoutOf(good).episodeData)).toEqual(before);
  await writeEpisodes(good, drawnEpisodes(7, 30));
  const grown = await listed({ text: "goal" });
  expect(grown.total).toBeGreaterThan(first.total);
  await writeEpisodes(good, drawnEpisodes(8, 5), 10);
  const cut = await listed({ text: "goal" });
  expect(cut.total).toBeLessThan(first.total);
  const { episodes } = await listed({});
  expect(episodes.map(({ step }) => step)).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect((await fs.readdir(good)).filter((name) => name.startsWith("lock-"))).toEqual([]);
});

it("gives every text as JSON, exactly as it is in the record", async () => {
  const texts: string[] = [];
  for (const { id } of (await listed({})).episodes) {
    const view = await json<EpisodeView>(`/api/runs/good/episode?id=${encodeURIComponent(id)}`);
    texts.push(...Object.values(view.actions).map(({ reply }) => reply.text));
  }
  for (const text of hostileTexts) expect(texts.some((one) => one.includes(text))).toBe(true);
});

it("has neighbours in the list that was filtered", async () => {
  const filter: Filter = { role: "planner", failed: true };
  const { episodes } = await listed(filter);
  const [newer, own, older] = episodes;
  const query = new URLSearchParams([...queryOf(filter), ["id", own?.id ?? ""]]);
  const view = await json<EpisodeView>(`/api/runs/good/episode?${query.toString()}`);
  expect([view.newer, view.older]).toEqual([newer?.id, older?.id]);
});

it("says whether the neighbours are final, and has a command for what is stored only", async () => {
  vi.stubEnv("TROUPE_CACHE", path.join(root, "cache"));
  const filter: Filter = { text: "goal" };
  const [newer, own, older] = (await listed(filter)).episodes;
  const id = own?.id ?? "";
  const viewed = new ViewedRuns(async () => [good]);
  onTestFinished(() => viewed.close());
  const [run] = await viewed.all();
  const view = await run?.episode(id, filter);
  expect(view).toMatchObject({ isExact: false, newer: null, older: null });
  await vi.waitFor(async () => {
    const final = { isExact: true, newer: newer?.id, older: older?.id };
    expect(await run?.episode(id, filter)).toMatchObject(final);
  }, 20_000);
  expect(view?.nodes[0]?.play).toContain(`--from ${id}`);
  const { stored } = (await run?.stored(id)) ?? {};
  const continued = stored && (await run?.viewOf(stored));
  expect(continued?.nodes[0]).toEqual({ ...view?.nodes[0], play: undefined });
});

it("filters an exported file as it does the run", async () => {
  const own = new ViewedRuns(async () => [good]);
  const data = await exportOf(own, { episodes: 100, characters: 2 ** 26 });
  await own.close();
  const filters: readonly Filter[] = [
    {},
    { from: "train", failed: true },
    { team: "team", step: [3, 9] },
    { role: "runner", truncated: true },
    { reward: [0.3, 0.7] },
    { dropped: true },
    { blamed: "planner" },
    { disagree: true },
    { disagree: false, role: "planner" },
    { text: "GOAL", reward: [1.2, 1.2] },
    ...hostileTexts.map((text) => ({ text: text.toWellFormed() })),
  ];
  for (const filter of filters) {
    const { total, episodes } = await listed(filter);
    const shown = answerFrom(data, `/api/runs/good/episodes?${queryOf(filter).toString()}`) as EpisodeList;
    expect([filter, shown.total, shown.episodes]).toEqual([filter, total, episodes.map((line) => line)]);
  }
  expect(() => answerFrom(data, "/api/runs/good/episodes?failed=yes")).toThrow("expected true or false");
});

it("reads every filter that can be written, and nothing else", async () => {
  const filter: Required<Filter> = {
    text: "a b&c",
    from: "train",
    team: "team",
    step: [1, 5],
    role: "planner",
    failed: false,
    blamed: "runner",
    truncated: true,
    reward: [-1, 0.5],
    disagree: true,
    dropped: false,
  };
  expect(filterIn(queryOf(filter))).toEqual(filter);
  const filters = ["what=1", "step=1", "step=1~x", "failed=yes", "from=here"];
  for (const query of [
    ...filters,
    "limit=0",
    "limit=1e9",
    "cursor=abc",
    "cursor=-1",
    "cursor=1.5",
    "cursor=",
  ])
    expect([query, (await ask(`/api/runs/good/episodes?${query}`)).status]).toEqual([query, 400]);
  for (const query of filters)
    expect([query, (await ask(`/api/runs/good/episode?id=train/1/0&${query}`)).status]).toEqual([query, 400]);
});

it("continues only what its page asks for, and reports what fails", async () => {
  const body = JSON.stringify({ episode: "train/1/0", node: "", samples: 1 });
  const post = (headers: Record<string, string>, sent = body) =>
    ask("/api/runs/good/continue", { method: "POST", headers, body: sent });
  const type = { "content-type": "application/json" };
  expect((await post({ "content-type": "text/plain" })).status).toBe(415);
  expect((await post(type, "{}")).status).toBe(400);
  expect((await post(type, "x".repeat(2 ** 17))).status).toBe(413);
  const events = (await post(type)).body.trim().split("\n");
  expect(events.map((line): unknown => JSON.parse(line))).toEqual([
    { type: "loading" },
    { type: "problem", error: "no weights for train/1/0" },
  ]);
});
