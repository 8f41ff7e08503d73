/** Runs a command while something disturbs it, and reads its results: what people look at afterwards. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { generatorOf, keyAt, rootKey } from "../../src/random.ts";
import { killAll, undisturbed, type Disturbance } from "./disturb.ts";
import type { Observation, Result } from "./oracle.ts";

export interface Place {
  /** An empty folder. */
  readonly folder: string;
  /** Where the command's sources are: this checkout, or a copy with a repair taken back. */
  readonly checkout: string;
}

export interface Disturbed {
  readonly place: Place;
  readonly by: Disturbance;
  readonly seed: number;
  /** Environment variables of the subject. */
  readonly variables?: Readonly<Record<string, string>>;
}

export interface Observed extends Observation {
  /** How often the disturbance acted. */
  readonly acts: number;
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly acts: number;
}

const longestRun = 240_000;

/** Runs a file of the checkout, `bin/troupe.js` for example, disturbed. */
async function runOf(given: readonly string[], { place, by, seed, variables }: Disturbed): Promise<Ended> {
  const { within = [], env, during, habit } = by;
  const random = generatorOf(keyAt(rootKey(seed), by.name));
  const [file = "", ...rest] = given;
  const command = [...within, process.execPath, path.join(place.checkout, file), ...rest];
  const child = spawn(command[0] ?? "", command.slice(1), {
    cwd: place.folder,
    env: {
      ...ownEnvironment(),
      TROUPE_CACHE: path.join(place.folder, "cache"),
      CHAOS_KEY: "sk-chaos-key",
      ...variables,
      ...env?.(random, place.folder),
    },
    stdio: ["ignore", "pipe", "pipe"] as const,
  });
  const ended = new AbortController();
  const acting = during?.(child.pid ?? -1, random, ended.signal);
  const late = setTimeout(() => killAll(child), longestRun);
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await closed;
  clearTimeout(late);
  ended.abort();
  const always = within.length > 0 || env !== undefined || habit !== undefined ? 1 : 0;
  return { code, stdout, stderr, acts: (await acting) ?? always };
}

/** A command that was killed, or stopped as it should, is given again until it ends. The fourth time it is undisturbed. */
async function untilEnded(given: readonly string[], disturbed: Disturbed): Promise<Ended> {
  const { resumes } = disturbed.by;
  let acts = 0;
  for (let attempt = 0; ; attempt++) {
    const by = attempt < 3 ? disturbed.by : undisturbed;
    const ended = await runOf(given, { ...disturbed, by, seed: disturbed.seed + 7 * attempt });
    acts += ended.acts;
    const mayResume = resumes !== undefined && (ended.code === null || resumes.test(ended.stderr));
    if (ended.code === 0 || attempt === 3 || !mayResume) return { ...ended, acts };
  }
}

function ownEnvironment(): NodeJS.ProcessEnv {
  const given = Object.entries(process.env);
  return Object.fromEntries(
    given.filter(([name]) => !/^(npm_|VITEST|FORCE_COLOR|NODE_ENV|NODE_OPTIONS)/.test(name)),
  );
}

/** Results of `troupe score`: a line for each input, or an error in its place. */
export async function scored(given: readonly string[], disturbed: Disturbed): Promise<Observed> {
  const { code, stdout, stderr, acts } = await runOf(["bin/troupe.js", "score", ...given], disturbed);
  const lines = stdout.split("\n").filter((line) => line !== "");
  const results = lines.map((line, index): Result => {
    return { key: `line ${index}`, text: line, failures: "error" in (JSON.parse(line) as object) ? 1 : 0 };
  });
  const errors = lines.filter((line) => line.startsWith('{"error"'));
  return { code, results, screen: [stderr, ...errors].join("\n"), acts };
}

/** A training in the folder `run`. Results are its steps, evaluations, and the final weights. */
export async function trained(given: readonly string[], disturbed: Disturbed): Promise<Observed> {
  const { code, stdout, stderr, acts } = await untilEnded(given, disturbed);
  const results = await resultsIn(path.join(disturbed.place.folder, "run"));
  return { code, results, screen: `${stdout}\n${stderr}`, acts };
}

async function resultsIn(run: string): Promise<Result[]> {
  let failures = 0;
  const results: Result[] = [];
  for (const kind of ["metrics", "evaluations"]) {
    for (const [index, line] of (await linesOf(path.join(run, `${kind}.jsonl`))).entries()) {
      const record = JSON.parse(line) as object;
      failures += failuresIn(record);
      results.push({ key: `${kind} ${index}`, text: JSON.stringify(record, withoutServices), failures });
    }
  }
  const weights = await weightsIn(run);
  return [...results, ...weights.map((line, index) => ({ key: `weights ${index}`, text: line, failures }))];
}

async function linesOf(file: string): Promise<string[]> {
  if (!existsSync(file)) return [];
  return (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
}

/** How often services were asked is no result. */
function withoutServices(key: string, value: unknown): unknown {
  return key === "services" ? undefined : value;
}

/** Wherever a record counts them. */
function failuresIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return Object.entries(value).reduce((sum, [key, one]) => {
    const isCount = typeof one === "number" && /^(failed|failures|faults|unjudged)$/.test(key);
    return sum + (isCount ? one : failuresIn(one));
  }, 0);
}

/** Only of a run that has ended: the last checkpoint of one that stopped is an earlier step's. */
async function weightsIn(run: string): Promise<string[]> {
  const folder = path.join(run, "checkpoints");
  if (!existsSync(path.join(run, "result.json"))) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".safetensors"));
  const names = files.map(({ parentPath, name }) => path.join(parentPath, name)).toSorted();
  return Promise.all(names.map(async (name) => `${path.relative(folder, name)} ${await digestOf(name)}`));
}

async function digestOf(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
