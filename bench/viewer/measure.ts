/**
 * How fast `troupe view` answers for a run, first without an index, then with it:
 * `node bench/viewer/measure.ts FOLDER`. Prints JSON lines. `thread`: milliseconds that the server's own thread computed
 * per request, which a busy machine changes little (Linux only).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { EpisodeList, EpisodeView, RunPage } from "../../src/view/api.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node bench/viewer/measure.ts FOLDER");
const view = path.join(folder, "view");
await fs.rm(view, { recursive: true, force: true });

const program = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const server = spawn(process.execPath, [program, "view", folder], { stdio: ["ignore", "pipe", "inherit"] });
const [url] = (await once(createInterface(server.stdout), "line")) as [string];
const base = `${url}/api/runs/${encodeURIComponent(path.basename(folder))}`;

function say(record: object): void {
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it says what is expected of the server
async function asked<T>(address: string): Promise<{ milliseconds: number; thread: number; answer: T }> {
  const [began, before] = [performance.now(), await computed()];
  const text = await (await fetch(address)).text();
  const milliseconds = performance.now() - began;
  return { milliseconds, thread: (await computed()) - before, answer: JSON.parse(text) as T };
}

/** Milliseconds of the server's own thread. */
async function computed(): Promise<number> {
  const text = await fs.readFile(`/proc/${server.pid}/task/${server.pid}/schedstat`, "utf8");
  return Number(text.split(" ")[0]) / 1e6;
}

async function memory(): Promise<number> {
  const status = await fs.readFile(`/proc/${server.pid}/status`, "utf8");
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
}

const [first, before] = [performance.now(), await computed()];
await Promise.all([
  asked(`${url}/api/runs`),
  asked(base),
  asked(`${base}/curves?of=rollout.success,policies.shared.entropy`),
  asked(`${base}/episodes`),
]);
say({
  what: "first screen, not indexed",
  milliseconds: performance.now() - first,
  thread: (await computed()) - before,
  megabytes: await memory(),
});

for (;;) {
  await delay(1000);
  const { index } = (await asked<RunPage>(base)).answer;
  if (index.problem !== undefined) throw new Error(index.problem);
  if (index.episodes > 0 && index.indexed === index.episodes) {
    const files = await fs.readdir(view);
    const sizes = await Promise.all(files.map(async (name) => (await fs.stat(path.join(view, name))).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    say({
      what: "index",
      seconds: (performance.now() - first) / 1000,
      bytes,
      ...index,
      megabytes: await memory(),
    });
    break;
  }
}

/** Each is asked this often; of searches only the first is a search. */
const times = 20;

async function measure(what: string, addresses: readonly string[]): Promise<void> {
  const found: { milliseconds: number; thread: number }[] = [];
  for (const address of addresses) found.push(await asked(address));
  const figures = (name: "milliseconds" | "thread") => {
    const sorted = found.map((one) => one[name]).toSorted((one, other) => one - other);
    const at = (share: number) => Math.round(10 * (sorted[Math.ceil(share * sorted.length) - 1] ?? 0)) / 10;
    return { p50: at(0.5), p95: at(0.95), max: at(1) };
  };
  say({ what, requests: found.length, ...figures("milliseconds"), thread: figures("thread") });
}

const repeated = (address: string) => Array.from({ length: times }, () => address);
const { answer: newest } = await asked<EpisodeList>(`${base}/episodes?limit=50`);
const ids = newest.episodes.map(({ id }) => encodeURIComponent(id));
await measure("runs", repeated(`${url}/api/runs`));
await measure("page", repeated(base));
await measure("two curves", repeated(`${base}/curves?of=rollout.success,policies.shared.entropy`));
await measure("all curves", repeated(`${base}/curves`));
await measure("list", repeated(`${base}/episodes`));
const thresholds = Array.from({ length: times }, (_, number) => 1.2 - number / 100);
await measure(
  "filter by reward and role",
  thresholds.map((low) => `${base}/episodes?reward=${low}~2&role=runner`),
);
await measure("filter by truncation, drops, blame", [
  ...repeated(`${base}/episodes?truncated=true&dropped=false`).slice(0, 5),
  `${base}/episodes?blamed=planner&failed=true`,
  `${base}/episodes?disagree=true`,
]);
await measure(
  "episode",
  ids.map((id) => `${base}/episode?id=${id}`),
);
const { answer: shown } = await asked<EpisodeView>(`${base}/episode?id=${ids[0]}`);
const actions = Object.keys(shown.actions).slice(0, 50).map(encodeURIComponent);
await measure(
  "action",
  actions.map((action) => `${base}/action?episode=${ids[0]}&action=${action}`),
);

for (const text of [
  "the",
  "right down goal",
  "gnostreke",
  "BAKELO",
  "日本",
  "zzzqqq",
  "é",
  "plan the wall of a1 b7",
]) {
  const address = `${base}/episodes?text=${encodeURIComponent(text)}`;
  let [requests, slowest, mostOfThread] = [0, 0, 0];
  const began = performance.now();
  for (;;) {
    const { answer, milliseconds, thread } = await asked<EpisodeList>(address);
    requests += 1;
    [slowest, mostOfThread] = [Math.max(slowest, milliseconds), Math.max(mostOfThread, thread)];
    if (!answer.isExact) {
      // As the page does.
      await delay(300);
      continue;
    }
    say({
      what: "search",
      text,
      found: answer.total,
      requests,
      slowest,
      mostOfThread,
      milliseconds: performance.now() - began,
    });
    break;
  }
}
say({ what: "at the end", megabytes: await memory() });
server.kill("SIGINT");
await once(server, "exit");
