/**
 * What Troupe itself costs with many episodes: processor time of this process while a simulated engine answers. Other
 * work on the machine changes wall-clock time, and processor time only a little.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gameEnvironment } from "../src/environments/game.ts";
import { createGame } from "../src/environments/registry.ts";
import { sourceOf, trainingTasks } from "../src/environments/tasks.ts";
import { keyAt, rootKey } from "../src/random.ts";
import { growEpisodes } from "../src/rollout/grow.ts";
import type { EpisodeStart } from "../src/rollout/record.ts";
import { rolloutDefaults, type RolloutSetting } from "../src/rollout/setting.ts";
import { buildTeam } from "../src/teams/build.ts";
import { loadTokenizer } from "../src/text/tokenizer.ts";
import { writeWordTokenizer } from "../src/text/word-tokenizer.ts";
import { simulatedEngine, type Latency } from "./simulated-engine.ts";

export interface ScaleRow {
  readonly what: string;
  readonly episodes: number;
  /** Requests to the engine at the same time. */
  readonly most: number;
  readonly seconds: number;
  /** Processor time per episode, in milliseconds. */
  readonly milliseconds: number;
  /** Heap after each tenth, in MiB: of the first and the last. */
  readonly heap: readonly [number, number];
}

const environment = gameEnvironment(createGame("plan-path", { size: 6 }));
const latency: Latency = { first: 2, speed: 40 };
const replyTokens = 256;

/** Takes minutes. */
export async function measureScale(tell: (what: string) => void): Promise<ScaleRow[]> {
  const rows: ScaleRow[] = [];
  await measureWaves("warm-up", 200, 200, 8, null);
  for (const tasks of [100, 1_000, 10_000]) {
    tell(`${tasks} tasks, answers at once`);
    rows.push(await measureWaves("answers at once", tasks, 1_000, 8, null));
  }
  tell("10,000 concurrent episodes");
  rows.push(await measureWaves("10,000 at a time", 10_000, 10_000, replyTokens, latency));
  return rows;
}

/** Episodes in waves, each wave's concurrently, as steps of a training are; nothing is kept of a wave. */
async function measureWaves(
  what: string,
  episodes: number,
  concurrency: number,
  tokens: number,
  wait: Latency | null,
): Promise<ScaleRow> {
  const { setting, engine } = settingWith(tokens, wait);
  const heaps = [heapMiB()];
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  for (let first = 0; first < episodes; first += concurrency) {
    await playWave(setting, first, Math.min(concurrency, episodes - first));
    heaps.push(heapMiB());
  }
  const seconds = (performance.now() - started) / 1000;
  const used = process.cpuUsage(cpu);
  const processor = (used.user + used.system) / 1e6;
  return {
    what,
    episodes,
    most: engine.most(),
    seconds,
    milliseconds: (1000 * processor) / episodes,
    heap: [heaps[1] ?? 0, heaps.at(-1) ?? 0],
  };
}

async function playWave(setting: RolloutSetting, first: number, count: number): Promise<void> {
  const root = rootKey(1);
  const taskOf = trainingTasks(sourceOf(environment, "train"), root);
  const starts: EpisodeStart[] = [];
  for (let index = first; index < first + count; index++)
    starts.push({ path: ["scale", index], task: await taskOf(index, keyAt(root, "scale", index)) });
  await growEpisodes(setting, root, starts);
}

function settingWith(tokens: number, wait: Latency | null) {
  const tokenizer = wordTokenizer();
  const [end = 0] = tokenizer.endTokens;
  const engine = simulatedEngine({ vocabularySize: tokenizer.vocabularySize, tokens, end }, wait);
  const roles = { scout: { policy: "own", prompt: "" }, planner: { policy: "own", prompt: "" } };
  const limited = Object.fromEntries(
    Object.entries(roles).map(([name, role]) => [name, { ...role, maxTokens: 2 * tokens }]),
  );
  const setting: RolloutSetting = {
    ...rolloutDefaults,
    environment,
    team: buildTeam({ roles: limited, phases: [["scout"], ["planner"]], turns: 2 }, environment),
    engine,
    policies: { own: { tokenizer, maxLength: 32_768 } },
    scheme: { branch: { root: 1, inner: 1 }, keep: "first" },
    score: () => 0,
    sampling: { temperature: 1 },
  };
  return { setting, engine };
}

function wordTokenizer() {
  const folder = mkdtempSync(path.join(tmpdir(), "troupe-scale-"));
  writeWordTokenizer(folder, environment.oracle?.words ?? []);
  const tokenizer = loadTokenizer(folder);
  rmSync(folder, { recursive: true });
  return tokenizer;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What is alive. */
function heapMiB(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}
